// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/place.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

TEST_CASE("places share a layer when all layers above it are the same, too") {
    const Place a{{"host", "a"}, {"socket", "0"}}, b{{"host", "b"}, {"socket", "0"}};
    CHECK(a.down_to("host") != b.down_to("host"));
    CHECK(a.down_to("socket") != b.down_to("socket"));
    CHECK(a.down_to("socket") ==
          Place{{"host", "a"}, {"socket", "0"}, {"numa", "1"}}.down_to("socket"));
    CHECK(!a.down_to("numa"));
    CHECK(text_of(a) == "host=a/socket=0");
    CHECK(text_of({}) == "unknown");
}

TEST_CASE("a place names each layer once") {
    CHECK_THROWS_AS((Place{{"host", "a"}, {"host", "b"}}), InvalidArgument);
    CHECK_THROWS_AS((Place{{"host", ""}}), InvalidArgument);
}
