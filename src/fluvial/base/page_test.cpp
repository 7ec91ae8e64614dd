// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/page.hpp"

#include <cstdint>
#include <limits>
#include <new>

#include <doctest/doctest.h>

using namespace fluvial;

TEST_CASE("sizes are rounded up to pages of this system") {
    CHECK(page_bytes() >= 4096);
    CHECK((page_bytes() & (page_bytes() - 1)) == 0);
    CHECK(whole_pages(0) == 0);
    CHECK(whole_pages(1) == page_bytes());
    CHECK(whole_pages(page_bytes()) == page_bytes());
    CHECK(whole_pages(page_bytes() + 1) == 2 * page_bytes());
}

TEST_CASE("pages are zero, writable and aligned, and too many are refused") {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, page_bytes() + 1}) {
        for (const std::size_t alignment : {std::size_t{1}, page_bytes(), std::size_t{2} << 20}) {
            for (int again = 0; again < 3; ++again) {
                const PageMemory memory = allocate_pages(bytes, alignment);
                CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % alignment == 0);
                CHECK(reinterpret_cast<std::uintptr_t>(memory.get()) % page_bytes() == 0);
                for (std::size_t i = 0; i < bytes; ++i) {
                    REQUIRE(memory.get()[i] == std::byte{0});
                    memory.get()[i] = std::byte{1};
                }
            }
        }
    }
    CHECK_THROWS_AS(allocate_pages(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
    CHECK_THROWS_AS(allocate_pages(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
    CHECK_THROWS_AS(allocate_pages(std::numeric_limits<std::size_t>::max() - page_bytes(),
                                   std::size_t{2} << 20),
                    std::bad_alloc);
}
