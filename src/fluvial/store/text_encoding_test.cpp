// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/text_encoding.hpp"

#include <doctest/doctest.h>

using namespace fluvial::store;

TEST_CASE("UTF-8 stays as it is") {
    for (const char* bytes : {"", "m s-1", "\xc2\xb5m", "\xe2\x82\xac", "\xed\x9f\xbf",
                              "\xf0\x9f\x8c\x8a", "\xf4\x8f\xbf\xbf"}) {
        CHECK(is_utf8(bytes));
        CHECK(to_utf8(bytes) == bytes);
    }
}

TEST_CASE("anything else is taken for Latin-1") {
    // A lone byte, a cut character, overlong ones, a surrogate, beyond Unicode, a stray tail.
    for (const char* bytes : {"\xb0", "\xe2\x82", "\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf",
                              "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "a\x80"}) {
        CHECK_FALSE(is_utf8(bytes));
        CHECK(is_utf8(to_utf8(bytes)));
    }
    CHECK(to_utf8("5 \xb0"
                  "C") ==
          "5 \xc2\xb0"
          "C");
}
