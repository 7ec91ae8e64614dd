// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_memory.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

using fluvial::stage::StepMemory;

TEST_CASE("the next step has the memory of the last one") {
    StepMemory memory;
    std::set<std::byte*> first, second;
    for (const std::size_t bytes : {0, 8, 100'000, 100'000, 9'000'000}) {
        std::byte* const block = memory.take(bytes);
        std::fill_n(block, bytes, std::byte{1});
        CHECK(first.insert(block).second);
    }
    memory.end_step();
    for (const std::size_t bytes : {9'000'000, 100'000, 99'000, 8, 0}) {
        CHECK(second.insert(memory.take(bytes)).second);
    }
    CHECK(first == second);
}

TEST_CASE(
    "memory that is much too large serves nobody, and what a step does not take is given up") {
    StepMemory memory;
    std::byte* const large = memory.take(1'000'000);
    memory.end_step();
    CHECK(memory.take(400'000) != large);
    memory.end_step();
    std::byte* const again = memory.take(400'000);
    std::fill_n(again, 400'000, std::byte{2});
    memory.end_step();
    memory.end_step();  // a step of nothing
    std::fill_n(memory.take(400'000), 400'000, std::byte{3});
}
