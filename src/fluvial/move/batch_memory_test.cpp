// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/batch_memory.hpp"

#include <cstdint>
#include <cstring>
#include <memory>

#include <doctest/doctest.h>

using fluvial::move::allocate_batches;
using fluvial::move::huge_page_bytes;

namespace {

std::uintptr_t begin_of(const std::shared_ptr<std::byte>& memory, std::size_t page) {
    return reinterpret_cast<std::uintptr_t>(memory.get()) % page;
}

}  // namespace

TEST_CASE("batches begin at a cache line, and can be written to their end") {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{4001}, huge_page_bytes - 1}) {
        const auto memory = allocate_batches(bytes, bytes);
        REQUIRE(memory != nullptr);
        CHECK(begin_of(memory, 64) == 0);
        std::memset(memory.get(), 1, bytes);
        CHECK(memory.get()[bytes - 1] == std::byte{1});
    }
}

TEST_CASE("batches begin at a huge page when whole ones fit into what is allowed") {
    const std::size_t bytes = huge_page_bytes + 5;
    const auto memory = allocate_batches(bytes, 2 * huge_page_bytes);
    CHECK(begin_of(memory, huge_page_bytes) == 0);
    std::memset(memory.get(), 2, bytes);
    CHECK(memory.get()[bytes - 1] == std::byte{2});
    const auto exact = allocate_batches(huge_page_bytes, huge_page_bytes);
    CHECK(begin_of(exact, huge_page_bytes) == 0);
}

TEST_CASE("nothing is allocated for nothing, and released like the rest") {
    CHECK(allocate_batches(0, huge_page_bytes) != nullptr);
}
