// SPDX-License-Identifier: Apache-2.0
/// What the datasets of every format must pass: partial reads agree with a whole read, into
/// whatever memory, from several threads, and the layout says where the bytes are. Use it for your
/// own formats too (needs doctest). That the whole read is right, the format's own library has to
/// say.
///
///     FormatConformance(*file->dataset("t"), 2024).run();
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::store {

class FormatConformance {
  public:
    FormatConformance(const Dataset& dataset, std::uint32_t seed)
        : dataset_(dataset), seed_(seed), random_(seed) {
        whole_.resize(bytes_of(dataset.shape()));
        dataset.read(fluvial::whole(dataset.shape()), writable(whole_, dataset.shape()));
    }

    void run(int trials = 60) {
        INFO("dataset ", dataset_.name(), ", shape ", text(dataset_.shape()), ", seed ", seed_);
        check_description();
        check_refusals();
        for (int trial = 0; trial < trials; ++trial) {
            CAPTURE(trial);
            check_region(random_region(trial));
        }
        check_threads();
        check_layout();
    }

  private:
    using Bytes = std::vector<std::byte>;

    std::size_t item() const { return size_of(dataset_.dtype()); }
    std::size_t bytes_of(const Coordinates& extent) const {
        return static_cast<std::size_t>(volume_of(extent)) * item();
    }
    MutableArrayView writable(Bytes& bytes, const Coordinates& extent) const {
        return {bytes.data(), dataset_.dtype(), extent, contiguous_strides(extent, item())};
    }
    Index between(Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(random_);
    }

    /// First the whole, one element and nothing; then boxes of any kind.
    Region random_region(int trial) {
        Region region = fluvial::whole(dataset_.shape());
        const Index kind = trial < 3 ? trial : between(1, 9);
        if (kind == 0) {
            return region;
        }
        const int empty_axis =
            kind == 2 && region.ndim() > 0 ? static_cast<int>(between(0, region.ndim() - 1)) : -1;
        for (int axis = 0; axis < region.ndim(); ++axis) {
            const Index length = region.extent[axis];
            const bool all = kind > 2 && between(0, 3) == 0;
            region.extent[axis] = all                  ? length
                                  : axis == empty_axis ? 0
                                  : kind == 1          ? std::min<Index>(1, length)
                                                       : between(0, length);
            region.offset[axis] = between(0, length - region.extent[axis]);
        }
        return region;
    }

    void check_description() {
        CHECK(dataset_.dimensions().size() == static_cast<std::size_t>(dataset_.shape().size()));
        if (const auto* affine = std::get_if<Affine>(&dataset_.layout())) {
            CHECK(affine->strides.size() == dataset_.shape().size());
            CHECK(std::is_sorted(affine->strides.begin(), affine->strides.end(), std::greater<>()));
        } else if (const auto* chunked = std::get_if<Chunked>(&dataset_.layout())) {
            REQUIRE(chunked->chunk.size() == dataset_.shape().size());
            CHECK(std::all_of(chunked->chunk.begin(), chunked->chunk.end(),
                              [](Index n) { return n > 0; }));
            CHECK(chunked->fill.size() == item());
        }
    }

    void check_refusals() {
        const Coordinates& shape = dataset_.shape();
        Bytes room(whole_.size() + item());
        for (int axis = 0; axis < shape.size(); ++axis) {
            Region outside = fluvial::whole(shape);
            outside.offset[axis] = 1;
            CHECK_THROWS_AS(dataset_.read(outside, writable(room, outside.extent)),
                            InvalidArgument);
            outside.offset[axis] = -1;
            CHECK_THROWS_AS(dataset_.read(outside, writable(room, outside.extent)),
                            InvalidArgument);
        }
        Region deeper = fluvial::whole(shape);
        deeper.offset.push_back(0);
        deeper.extent.push_back(1);
        CHECK_THROWS_AS(dataset_.read(deeper, writable(room, deeper.extent)), InvalidArgument);
        MutableArrayView other = writable(room, shape);
        other.dtype = dataset_.dtype() == DType::Int8 ? DType::UInt8 : DType::Int8;
        CHECK_THROWS_AS(dataset_.read(fluvial::whole(shape), other), InvalidArgument);
        if (!std::holds_alternative<Chunked>(dataset_.layout())) {
            CHECK_THROWS_AS(static_cast<void>(dataset_.locate(Coordinates(shape.size(), 0))),
                            InvalidArgument);
        }
    }

    /// Into memory with gaps, the axes in random order; what lies between must stay as it was.
    void check_region(const Region& region) {
        INFO("region ", text(region));
        std::vector<int> order(static_cast<std::size_t>(region.ndim()));
        for (int axis = 0; axis < region.ndim(); ++axis) {
            order[static_cast<std::size_t>(axis)] = axis;
        }
        const bool contiguous = between(0, 1) == 0;
        if (!contiguous) {
            std::shuffle(order.begin(), order.end(), random_);
        }
        Coordinates strides(region.ndim(), 0);
        Index stride = static_cast<Index>(item());
        for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
            stride += contiguous ? 0 : between(0, 2) * static_cast<Index>(item());
            strides[*axis] = stride;
            stride *= std::max<Index>(region.extent[*axis], 1);
        }
        constexpr std::byte mark{0xa5};
        Bytes memory(static_cast<std::size_t>(stride), mark);
        Bytes expected = memory;
        const DType dtype = dataset_.dtype();
        dataset_.read(region, MutableArrayView{memory.data(), dtype, region.extent, strides});
        copy(subview(ArrayView(writable(whole_, dataset_.shape())), region),
             MutableArrayView{expected.data(), dtype, region.extent, strides});
        CHECK(memory == expected);
    }

    void check_threads() {
        std::mutex mutex;
        int wrong = 0;
        std::exception_ptr thrown;
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 3; ++thread) {
            threads.emplace_back([&] {
                Bytes mine(whole_.size());
                try {
                    dataset_.read(fluvial::whole(dataset_.shape()),
                                  writable(mine, dataset_.shape()));
                } catch (...) {
                    const std::lock_guard lock(mutex);
                    thrown = std::current_exception();
                }
                const std::lock_guard lock(mutex);
                wrong += mine == whole_ ? 0 : 1;
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        CHECK(wrong == 0);
    }

    /// Elements taken from the file by hand.
    void check_layout() {
        const Index count = volume_of(dataset_.shape());
        for (int trial = 0; trial < 50 && count > 0; ++trial) {
            const Index element = between(0, count - 1);
            const Coordinates at = coordinates_of(element, dataset_.shape());
            CAPTURE(element);
            Bytes stored(item());
            bool swapped = false;
            if (const auto* affine = std::get_if<Affine>(&dataset_.layout())) {
                std::uint64_t offset = affine->offset;
                for (int axis = 0; axis < at.size(); ++axis) {
                    offset += static_cast<std::uint64_t>(at[axis] * affine->strides[axis]);
                }
                dataset_.bytes().read(offset, stored);
                swapped = affine->swapped;
            } else if (const auto* chunked = std::get_if<Chunked>(&dataset_.layout())) {
                if (!read_from_chunk(*chunked, at, stored, swapped)) {
                    continue;
                }
            } else {
                return;
            }
            const std::size_t part = item() / (is_complex(dataset_.dtype()) ? 2 : 1);
            for (auto first = stored.begin(); swapped && first != stored.end();
                 first += static_cast<std::ptrdiff_t>(part)) {
                std::reverse(first, first + static_cast<std::ptrdiff_t>(part));
            }
            CHECK(std::memcmp(stored.data(), whole_.data() + element * Index(item()), item()) == 0);
        }
    }

    /// False for encoded chunks, which take a decoder.
    bool read_from_chunk(const Chunked& layout, const Coordinates& at, Bytes& stored,
                         bool& swapped) const {
        Coordinates chunk = at;
        Coordinates inside = at;
        for (int axis = 0; axis < at.size(); ++axis) {
            chunk[axis] = at[axis] / layout.chunk[axis];
            inside[axis] = at[axis] % layout.chunk[axis];
        }
        const StoredChunk place = dataset_.locate(chunk);
        if (!place.stored) {
            stored = layout.fill;
            return true;
        }
        std::optional<InputFile> own;
        if (!place.file.empty()) {
            own.emplace(place.file);
        }
        const InputFile& file = own ? *own : dataset_.bytes();
        CHECK(place.offset + place.bytes <= file.size());
        if (!layout.filters.empty()) {
            return false;
        }
        CHECK(place.bytes == bytes_of(layout.chunk));
        const auto linear = static_cast<std::uint64_t>(linear_index(inside, layout.chunk));
        file.read(place.offset + linear * item(), stored);
        swapped = layout.swapped;
        return true;
    }

    const Dataset& dataset_;
    std::uint32_t seed_;
    std::mt19937 random_;
    Bytes whole_;
};

}  // namespace fluvial::store
