// SPDX-License-Identifier: Apache-2.0
/// What every transport of remote reads must do. A test makes a pair of ends, serves one of them in
/// a thread, and calls these.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/move/remote_read.hpp"

namespace fluvial::move {

/// Regions of bytes that are known by their number and place.
class KnownMemory final : public Exposed {
  public:
    KnownMemory(std::uint32_t regions, std::size_t bytes) : memory_(regions) {
        for (std::uint32_t region = 0; region < regions; ++region) {
            memory_[region].resize(bytes);
            for (std::size_t i = 0; i < bytes; ++i) {
                memory_[region][i] = byte_at(region, i);
            }
        }
    }
    static std::byte byte_at(std::uint32_t region, std::uint64_t offset) {
        return static_cast<std::byte>((offset * 2654435761u + region * 40503u) >> 7);
    }
    Memory memory_of(const MemoryOnHost& place) override {
        if (place.key >= memory_.size() || place.offset > memory_[place.key].size() ||
            place.bytes > memory_[place.key].size() - place.offset) {
            throw OutOfMemory(Problem{"there is no such memory", text("region ", place.key),
                                      text(memory_.size(), " regions"), ""});
        }
        return {memory_[place.key].data() + place.offset, nullptr};
    }
    using OutOfMemory = InvalidArgument;

  private:
    std::vector<std::vector<std::byte>> memory_;
};

inline void ignore_silence(double /*silent_s*/) {}

/// A random box of a random array in a region, with memory for it.
struct WantedBox {
    WantedBox(std::mt19937& random, std::uint32_t regions, std::size_t region_bytes) {
        const auto below = [&](std::uint64_t n) {
            return static_cast<Index>(std::uniform_int_distribution<std::uint64_t>(0, n)(random));
        };
        constexpr std::uint32_t items[] = {1, 2, 4, 8, 16};
        box.item_bytes = items[below(4)];
        const int ndim = static_cast<int>(below(4));
        box.extent = Coordinates(ndim, 0);
        box.box = {Coordinates(ndim, 0), Coordinates(ndim, 0)};
        for (int axis = 0; axis < ndim; ++axis) {
            box.extent[axis] = 1 + below(6);
            box.box.offset[axis] = below(static_cast<std::uint64_t>(box.extent[axis]));
            box.box.extent[axis] =
                below(static_cast<std::uint64_t>(box.extent[axis] - box.box.offset[axis]));
        }
        const auto bytes = static_cast<std::uint64_t>(whole(box.extent).volume()) * box.item_bytes;
        box.place = {static_cast<std::uint32_t>(below(regions - 1)),
                     static_cast<std::uint64_t>(below(region_bytes - bytes)), bytes, 0};
        got.resize(box.bytes() + 1, std::byte{0x5a});
        box.to = got.data();
    }
    void check() const {
        std::size_t at = 0;
        const Index count = box.box.volume();
        for (Index i = 0; i < count; ++i) {
            Coordinates where = coordinates_of(i, box.box.extent);
            for (int axis = 0; axis < where.size(); ++axis) {
                where[axis] += box.box.offset[axis];
            }
            const auto first =
                box.place.offset +
                static_cast<std::uint64_t>(linear_index(where, box.extent)) * box.item_bytes;
            for (std::uint32_t b = 0; b < box.item_bytes; ++b, ++at) {
                REQUIRE(got[at] == KnownMemory::byte_at(box.place.key, first + b));
            }
        }
        CHECK(got[at] == std::byte{0x5a});  // nothing behind it was touched
    }
    RemoteBox box;
    std::vector<std::byte> got;
};

/// `reader` reads what `memory` exposes, which another thread serves meanwhile.
inline void check_remote_reads(RemoteReader& reader, std::uint32_t seed, std::uint32_t regions,
                               std::size_t region_bytes) {
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
        std::vector<WantedBox> wanted;
        const int count = static_cast<int>(random() % 20);
        wanted.reserve(static_cast<std::size_t>(count));
        std::vector<RemoteBox> boxes;
        for (int i = 0; i < count; ++i) {
            wanted.emplace_back(random, regions, region_bytes);
            boxes.push_back(wanted.back().box);
        }
        reader.read(boxes, ignore_silence);
        for (const WantedBox& box : wanted) {
            box.check();
        }
    }
}

/// A whole region, which is more than a network takes at a time.
inline void check_a_large_read(RemoteReader& reader, std::size_t region_bytes) {
    std::vector<std::byte> got(region_bytes);
    const auto extent = static_cast<Index>(region_bytes);
    const RemoteBox box{{0, 0, region_bytes, 0}, 1, {extent}, {{0}, {extent}}, got.data()};
    reader.read(std::span(&box, 1), ignore_silence);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < region_bytes; ++i) {
        wrong += got[i] == KnownMemory::byte_at(0, i) ? 0 : 1;
    }
    CHECK(wrong == 0);
}

/// What is not there is an error of its owner, after which the next read goes well.
inline void check_refusals(RemoteReader& reader) {
    std::byte one{};
    const auto read = [&](const RemoteBox& box) {
        reader.read(std::span(&box, 1), ignore_silence);
    };
    const RemoteBox good{{0, 0, 1, 0}, 1, {1}, {{0}, {1}}, &one};
    RemoteBox nowhere = good;
    nowhere.place.key = 1000;
    CHECK_THROWS_WITH_AS(read(nowhere), doctest::Contains("no such memory"), InvalidArgument);
    RemoteBox larger = good;
    larger.extent[0] = 2;
    CHECK_THROWS_WITH_AS(read(larger), doctest::Contains("does not fit the memory"), Error);
    RemoteBox outside = good;
    outside.box.offset[0] = 1;
    CHECK_THROWS_AS(read(outside), InvalidArgument);
    RemoteBox huge = good;
    huge.extent = {Index{1} << 40, Index{1} << 40};
    huge.box = {{0, 0}, {1, 1}};
    CHECK_THROWS_AS(read(huge), Error);
    read(good);
    CHECK(one == KnownMemory::byte_at(0, 0));
}

}  // namespace fluvial::move
