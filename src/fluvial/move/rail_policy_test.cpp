// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rail_policy.hpp"

#include <doctest/doctest.h>

namespace fluvial::move {
namespace {

using Over = RailPolicy::Over;
constexpr std::uint64_t size = 4 << 20;

/// Reads so many times, which takes so long over all rails and over one; how many were over one.
int reads_over_one(RailPolicy& policy, int reads, double all_s, double one_s,
                   std::uint64_t bytes = size) {
    int ones = 0;
    for (int read = 0; read < reads; ++read) {
        const Over over = policy.next(bytes);
        ones += over == Over::One ? 1 : 0;
        policy.took(over, bytes, bytes, over == Over::One ? one_s : all_s);
    }
    return ones;
}

}  // namespace

TEST_CASE("both ways are tried by turns, all rails first") {
    RailPolicy policy;
    for (int turn = 0; turn < 10; ++turn) {
        const Over expected = turn % 2 == 0 ? Over::All : Over::One;
        CHECK(policy.next(size) == expected);
        policy.took(expected, size, size, 1);
    }
}

TEST_CASE("the faster way is taken, and the other tried ever more seldom") {
    for (const bool one_is_faster : {false, true}) {
        CAPTURE(one_is_faster);
        RailPolicy policy;
        const double all_s = 0.010, one_s = one_is_faster ? 0.006 : 0.030;
        CHECK(reads_over_one(policy, 10, all_s, one_s) == 5);
        const int reads = 4000;
        const int ones = reads_over_one(policy, reads, all_s, one_s);
        const int trials = one_is_faster ? reads - ones : ones;
        CHECK(trials >= 4);
        CHECK(trials <= 10);
    }
}

TEST_CASE("what hardly differs goes over all rails") {
    RailPolicy policy;
    reads_over_one(policy, 10, 0.010, 0.0097);
    CHECK(reads_over_one(policy, 40, 0.010, 0.0097) == 1);
}

TEST_CASE("the choice changes when the machine does, by its own reads or by a trial") {
    RailPolicy policy;
    reads_over_one(policy, 200, 0.010, 0.006);
    // One network has become slow: most of what is remembered of it is after three reads.
    CHECK(reads_over_one(policy, 20, 0.010, 0.050) == 3);
    // It is fast again, which the next trials find.
    CHECK(reads_over_one(policy, 2000, 0.010, 0.006) > 1000);
}

TEST_CASE("single reads that take much longer or shorter than others do not matter") {
    RailPolicy policy;
    reads_over_one(policy, 10, 0.010, 0.006);
    policy.took(Over::One, size, size, 0.100);
    policy.took(Over::One, size, size, 0.100);
    CHECK(policy.next(size) == Over::One);
    policy.took(Over::All, size, size, 0.001);
    CHECK(policy.next(size) == Over::One);
}

TEST_CASE("sizes have choices of their own") {
    RailPolicy policy;
    reads_over_one(policy, 20, 0.010, 0.006);
    CHECK(policy.next(size) == Over::One);
    CHECK(policy.next(16 * size) == Over::All);
}

TEST_CASE("one rail that is clearly slower is hopeless once it has had its chance") {
    RailPolicy policy;
    CHECK_FALSE(policy.hopeless(size, 0, 100));  // how fast all are is not known
    policy.took(Over::All, size, size, 0.100);
    CHECK_FALSE(policy.hopeless(size, size / 100, 0.020));  // too early to tell
    CHECK(policy.hopeless(size, size / 10, 0.030));
    CHECK_FALSE(policy.hopeless(size, size / 5, 0.030));
    CHECK_FALSE(policy.hopeless(size, 0, 0.150));  // nothing has come yet: it may be far away
    CHECK(policy.hopeless(size, 0, 0.200));
    policy.took(Over::All, 64, 64, 0.001);
    CHECK_FALSE(policy.hopeless(64, 1, 0.009));  // it may have waited for a core
}

TEST_CASE("one trial that was hopeless is enough") {
    RailPolicy policy;
    policy.took(Over::All, size, size, 0.010);
    CHECK(policy.next(size) == Over::One);
    policy.took(Over::One, size, size / 6, 0.006);
    CHECK(reads_over_one(policy, 4, 0.010, 0.036) == 0);   // the other turns of all rails
    CHECK(reads_over_one(policy, 40, 0.010, 0.036) == 1);  // the first trial after the turns
}

TEST_CASE("a read that did not go as it was to go does not count") {
    RailPolicy policy;
    reads_over_one(policy, 10, 0.010, 0.006);
    for (int read = 0; read < 5; ++read) {
        policy.took(Over::All, size, size, 0.001);
    }
    CHECK(policy.next(size) == Over::One);
}

}  // namespace fluvial::move
