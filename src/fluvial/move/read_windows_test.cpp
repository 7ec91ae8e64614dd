// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/read_windows.hpp"

#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/move/packed.hpp"
#include "fluvial/move/remote_read_conformance.hpp"
#include "fluvial/move/remote_request.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

const TestSeed seed(77);

/// What an owner does, without a network.
void bring(const ReadWindow& window, KnownMemory& memory) {
    auto parts = requested_parts(encode_request(window.boxes), memory);
    REQUIRE(parts.size() == window.boxes.size());
    for (const RemoteBox& box : window.boxes) {
        REQUIRE(parts.front().bytes.size() == box.bytes());
        std::memcpy(box.to, parts.front().bytes.data(), box.bytes());
        parts.pop_front();
    }
}

RemoteBox box_of(const Coordinates& extent, std::byte* to) {
    const auto bytes = static_cast<std::uint64_t>(whole(extent).volume());
    return {{0, 0, bytes, 0}, 1, extent, whole(extent), to};
}

}  // namespace

TEST_CASE("windows of any size, brought in any order, are the boxes") {
    std::mt19937 random(seed);
    constexpr std::size_t region_bytes = 100'000;
    KnownMemory memory(2, region_bytes);
    for (int round = 0; round < 300; ++round) {
        std::vector<WantedBox> wanted;
        std::vector<RemoteBox> boxes;
        std::uint64_t bytes = 0;
        const int count = static_cast<int>(random() % 20);
        wanted.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            wanted.emplace_back(random, 2, region_bytes);
            boxes.push_back(wanted.back().box);
            bytes += boxes.back().bytes();
        }
        const std::uint64_t most = 1 + random() % 300, least = 1 + random() % most;
        CAPTURE(most);
        std::vector<ReadWindow> windows = windows_of(boxes, {1 + random() % 9, least, most});
        std::shuffle(windows.begin(), windows.end(), random);
        std::uint64_t brought = 0;
        for (const ReadWindow& window : windows) {
            // One element of up to 16 bytes cannot be cut.
            CHECK(window.bytes <= std::max<std::uint64_t>(most, 16));
            brought += window.bytes;
            bring(window, memory);
        }
        CHECK(brought == bytes);
        for (const WantedBox& box : wanted) {
            box.check();
        }
    }
}

TEST_CASE("a large box is cut, and small ones share a window") {
    std::vector<std::byte> to(6'000'000);
    const auto count = [](const std::vector<RemoteBox>& boxes, std::uint64_t size) {
        return windows_of(boxes, {1, size, size}).size();
    };
    CHECK(count({box_of({6'000'000}, to.data())}, 1'000'000) == 6);
    CHECK(count({box_of({1, 2, 3'000'000}, to.data())}, 1'000'000) == 6);
    CHECK(count(std::vector(10, box_of({100}, to.data())), 1000) == 1);
    CHECK(count(std::vector(11, box_of({100}, to.data())), 1000) == 2);
    CHECK(count(std::vector(3, box_of({0}, to.data())), 1000) == 0);
}

TEST_CASE("windows become smaller towards the end") {
    std::vector<std::byte> to(6'000'000);
    const auto windows =
        windows_of(std::vector{box_of({6'000'000}, to.data())}, {4, 1000, 900'000});
    CHECK(windows.front().bytes == 900'000);
    CHECK(windows.back().bytes <= 1000);
    for (std::size_t i = 1; i < windows.size(); ++i) {
        CHECK(windows[i].bytes <= windows[i - 1].bytes);
    }
}

TEST_CASE("what is checked as a whole is read as a whole") {
    std::vector<std::byte> to(6'000'000);
    RemoteBox box = box_of({6'000'000}, to.data());
    box.place.checksum = 1;
    CHECK(windows_of(std::vector{box}, {1, 1'000'000, 1'000'000}).size() == 1);
}

TEST_CASE("a small read is one window, a larger one many for each rail") {
    std::vector<std::byte> to(6'000'000);
    const auto count = [&](Index bytes) {
        const auto sizes = window_sizes(static_cast<std::uint64_t>(bytes), 3);
        return windows_of(std::vector{box_of({bytes}, to.data())}, sizes).size();
    };
    CHECK(count(500'000) == 1);
    CHECK(count(600'000) >= 9);
    CHECK(count(6'000'000) >= 48);
}
