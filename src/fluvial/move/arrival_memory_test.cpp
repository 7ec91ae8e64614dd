// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/arrival_memory.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace fluvial::move;

TEST_CASE("memory that was given back comes again, for as much or a little less") {
    const std::byte* const first = arrival_memory(1 << 20).get();
    auto second = arrival_memory((1 << 20) - 1000);
    CHECK(second.get() == first);
    CHECK(arrival_memory((1 << 20) - 1000).get() != first);  // in use
    second.reset();
    CHECK(arrival_memory(1 << 19).get() != first);  // half of it would be wasted
    CHECK(arrival_memory(1 << 20).get() == first);
}

TEST_CASE("no more is kept than said: the oldest goes first") {
    const std::byte* const oldest = arrival_memory(3 << 20).get();
    std::vector<std::shared_ptr<std::byte[]>> many;
    for (std::size_t sum = 0; sum <= arrival_memory_kept_max; sum += 4 << 20) {
        many.push_back(arrival_memory(4 << 20));
        many.back()[0] = std::byte{1};
    }
    const auto other = arrival_memory(3 << 20);  // what was kept is in use: this is `oldest`
    CHECK(other.get() == oldest);
    std::vector<const std::byte*> begins;
    for (const auto& one : many) {
        begins.push_back(one.get());
    }
    many.clear();
    CHECK(arrival_memory(4 << 20).get() == begins.back());
}
