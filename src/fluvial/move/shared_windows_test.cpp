// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_windows.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::move;

namespace {

RemoteBox box_of(const Coordinates& extent, const Region& box, std::byte* to = nullptr) {
    const auto bytes = static_cast<std::uint64_t>(volume_of(extent)) * 8;
    return {{3, 4096, bytes, 0}, 8, extent, box, to};
}

WindowsOfBoxes cut(const RemoteBox& box) {
    return shared_windows({7, 1}, std::vector{box});
}

/// All elements of the box, once, each where it belongs.
void check_covers(const WindowsOfBoxes& out, const RemoteBox& box) {
    std::vector<int> seen(static_cast<std::size_t>(box.box.volume()));
    std::vector<RemoteBox> pieces = out.others;
    for (const SharedWindow& window : out.windows) {
        CHECK(window.stretch.bytes == window.box.bytes());
        CHECK(window.stretch.bytes <= shared_window_bytes);
        CHECK(window.stretch.bytes >= shared_bytes_min);
        pieces.push_back(window.box);
    }
    for (const RemoteBox& piece : pieces) {
        REQUIRE(contains(box.box, piece.box));
        const Index first = linear_index(within(piece.box, box.box).offset, box.box.extent);
        REQUIRE(piece.to == box.to + first * 8);
        const Index last = linear_index(
            [&] {
                Coordinates end = within(piece.box, box.box).offset;
                for (int axis = 0; axis < end.size(); ++axis) {
                    end[axis] += piece.box.extent[axis] - 1;
                }
                return end;
            }(),
            box.box.extent);
        REQUIRE(last - first + 1 == piece.box.volume());  // together in memory
        for (Index i = first; i <= last; ++i) {
            ++seen[static_cast<std::size_t>(i)];
        }
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

}  // namespace

TEST_CASE("windows cover a box, whatever its shape") {
    std::byte memory[1];
    const std::vector<std::pair<Coordinates, Region>> cases = {
        {{1'000'000}, {{0}, {1'000'000}}},
        {{1'000'000}, {{123'457}, {654'321}}},
        {{1, 1'000'000}, {{0, 5}, {1, 999'995}}},
        {{3, 400'000}, {{0, 0}, {3, 400'000}}},
        {{3, 400'000}, {{1, 7}, {2, 300'001}}},
        {{2000, 500}, {{0, 0}, {2000, 500}}},
        {{2000, 500}, {{17, 3}, {1800, 37}}},
        {{5, 3, 70'000}, {{1, 0, 11}, {4, 3, 69'000}}},
        {{64, 64, 64}, {{1, 2, 3}, {60, 61, 7}}},
        {{100}, {{0}, {100}}},
        {{100}, {{0}, {0}}},
    };
    for (const auto& one : cases) {
        const Region& region = one.second;
        const Coordinates& extent = one.first;
        CAPTURE(region);
        const RemoteBox box = box_of(extent, region, memory);
        check_covers(cut(box), box);
    }
}

TEST_CASE("ranks that want different rows have the same windows between them") {
    const Coordinates extent = {40'000, 100};
    const auto all = cut(box_of(extent, {{0, 0}, {40'000, 100}})).windows;
    const auto some = cut(box_of(extent, {{1000, 0}, {20'000, 100}})).windows;
    REQUIRE(some.size() > 10);
    for (const SharedWindow& window : some) {
        const auto same = std::find_if(all.begin(), all.end(), [&](const SharedWindow& other) {
            return other.stretch.window == window.stretch.window;
        });
        REQUIRE(same != all.end());
        const Index behind = (window.box.box.offset[0] - same->box.box.offset[0]) * 800;
        CHECK(same->stretch.first + static_cast<std::uint64_t>(behind) == window.stretch.first);
    }
}

TEST_CASE("windows of other columns, chunks, steps or hosts are others") {
    const Coordinates extent = {40'000, 100};
    const RemoteBox all = box_of(extent, {{0, 0}, {40'000, 50}});
    const auto key = [](const StepOnHost& from, const RemoteBox& box) {
        return shared_windows(from, std::vector{box}).windows.front().stretch.window;
    };
    const WindowKey known = key({7, 1}, all);
    CHECK(known == key({7, 1}, all));
    CHECK_FALSE(known == key({8, 1}, all));
    CHECK_FALSE(known == key({7, 2}, all));
    CHECK_FALSE(known == key({7, 1}, box_of(extent, {{0, 1}, {40'000, 50}})));
    CHECK_FALSE(known == key({7, 1}, box_of(extent, {{0, 0}, {40'000, 51}})));
    RemoteBox elsewhere = all;
    elsewhere.place.offset += 64;
    CHECK_FALSE(known == key({7, 1}, elsewhere));
    elsewhere = all;
    elsewhere.place.key = 4;
    CHECK_FALSE(known == key({7, 1}, elsewhere));
}

TEST_CASE("a place with a checksum is one window, and what is small is none") {
    RemoteBox box = box_of({1'000'000}, {{0}, {1'000'000}});
    box.place.checksum = 99;
    CHECK(cut(box).windows.size() == 1);
    CHECK(cut(box_of({1'000'000}, {{0}, {100}})).windows.empty());
    CHECK(cut(box_of({1'000'000}, {{0}, {100}})).others.size() == 1);
}
