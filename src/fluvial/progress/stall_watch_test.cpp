// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/stall_watch.hpp"

#include <array>

#include <doctest/doctest.h>

using namespace fluvial::progress;

namespace {

using Beats = std::array<std::uint64_t, 2>;

}  // namespace

TEST_CASE("one that stops beating is found after the limit, and named") {
    StallWatch watch(2, 8);
    for (std::uint64_t beat = 0; beat <= 20; ++beat) {
        CHECK_FALSE(watch.look(beat, Beats{beat, beat}));
    }
    for (std::uint64_t own = 21; own <= 28; ++own) {
        CHECK_FALSE(watch.look(own, Beats{own, 20}));
    }
    const auto found = watch.look(29, Beats{29, 20});
    REQUIRE(found);
    CHECK(found->number == 1);
    CHECK(found->beats == 9);
}

TEST_CASE("one that goes on in time is well again") {
    StallWatch watch(2, 8);
    CHECK_FALSE(watch.look(0, Beats{0, 0}));
    CHECK_FALSE(watch.look(8, Beats{8, 0}));
    CHECK_FALSE(watch.look(9, Beats{9, 1}));
    CHECK_FALSE(watch.look(17, Beats{17, 1}));
    CHECK(watch.look(18, Beats{18, 1}));
    CHECK_FALSE(watch.look(19, Beats{19, 2}));
}

TEST_CASE("while the observer is stopped no rank's silence grows") {
    StallWatch watch(2, 8);
    CHECK_FALSE(watch.look(100, Beats{100, 100}));
    // Hours pass, in which all are stopped. The observer is the first to go on.
    for (int look = 0; look < 1000; ++look) {
        CHECK_FALSE(watch.look(100, Beats{100, 100}));
    }
    for (std::uint64_t own = 101; own <= 108; ++own) {
        CHECK_FALSE(watch.look(own, Beats{100, 100}));
    }
    CHECK_FALSE(watch.look(109, Beats{101, 101}));
}

TEST_CASE("an observer that did not look for hours judges by what changed since") {
    StallWatch watch(2, 8);
    CHECK_FALSE(watch.look(10, Beats{10, 10}));
    CHECK_FALSE(watch.look(100'000, Beats{99'000, 11}));  // both have beaten since
    CHECK_FALSE(watch.look(100'008, Beats{99'008, 11}));
    CHECK(watch.look(100'009, Beats{99'009, 11}));
    StallWatch another(2, 8);
    CHECK_FALSE(another.look(10, Beats{10, 10}));
    CHECK(another.look(100'000, Beats{99'000, 10}));  // it has not: stopped all the while
}

TEST_CASE("how far others are ahead or behind does not count") {
    StallWatch watch(2, 8);
    for (std::uint64_t beat = 0; beat < 100; ++beat) {
        CHECK_FALSE(watch.look(beat, Beats{1'000'000 - beat, beat / 4}));
    }
}
