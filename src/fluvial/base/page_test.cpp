// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/page.hpp"

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
