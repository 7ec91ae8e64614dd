// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/copy_policy.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::move;

namespace {

std::int64_t clock_ns = 0;
LastChoice last{1};
double cached_ns_per_byte = 0;
double streamed_ns_per_byte = 0;
std::uint64_t cached_bytes = 0;
std::uint64_t streamed_bytes = 0;

/// Copies nothing and takes its time.
std::vector<CopyMethod> pretended() {
    return {{"cached",
             [](std::byte*, const std::byte*, std::size_t bytes) {
                 cached_bytes += bytes;
                 clock_ns += static_cast<std::int64_t>(cached_ns_per_byte * double(bytes));
             }},
            {"streamed", [](std::byte*, const std::byte*, std::size_t bytes) {
                 streamed_bytes += bytes;
                 clock_ns += static_cast<std::int64_t>(streamed_ns_per_byte * double(bytes));
             }}};
}

void speeds(double cached_GBs, double streamed_GBs) {
    cached_ns_per_byte = 1 / cached_GBs;
    streamed_ns_per_byte = 1 / streamed_GBs;
    cached_bytes = streamed_bytes = 0;
}

void run_for(CopyPolicy& policy, double seconds, std::size_t block = 16384) {
    const std::int64_t end = clock_ns + static_cast<std::int64_t>(seconds * 1e9);
    while (clock_ns < end) {
        policy.copy(nullptr, nullptr, block);
    }
}

}  // namespace

TEST_CASE("the faster method is chosen, and again when it changes") {
    speeds(30, 12);
    last = 1;
    CopyPolicy policy(pretended(), last, 4 << 20, [] { return clock_ns; });
    CHECK(std::string(policy.chosen().name) == "streamed");
    run_for(policy, 0.01);
    CHECK(std::string(policy.chosen().name) == "cached");
    run_for(policy, 3);
    speeds(2, 12);
    run_for(policy, 0.02);
    CHECK(std::string(policy.chosen().name) == "streamed");
    speeds(30, 12);
    run_for(policy, 0.1);
    CHECK(std::string(policy.chosen().name) == "cached");
}

TEST_CASE("the next stream begins with what was best for the last") {
    speeds(30, 12);
    last = 1;
    CopyPolicy first(pretended(), last, 4 << 20, [] { return clock_ns; });
    run_for(first, 0.1);
    const CopyPolicy second(pretended(), last, 4 << 20, [] { return clock_ns; });
    CHECK(std::string(second.chosen().name) == "cached");
    CHECK(last_choice() < copy_methods().size());
}

TEST_CASE("trials cost less than 2 % of the time") {
    const double streamed = 12.0;
    for (const double cached : {30.0, 2.0, 0.1}) {
        CAPTURE(cached);
        speeds(cached, streamed);
        CopyPolicy policy(pretended(), last, 4 << 20, [] { return clock_ns; });
        run_for(policy, 1);
        const double best = std::max(cached, streamed);
        cached_bytes = streamed_bytes = 0;
        run_for(policy, 5);
        CHECK(double(cached_bytes + streamed_bytes) > 0.98 * 5e9 * best);
        CHECK(std::min(cached_bytes, streamed_bytes) > 0);
    }
}

TEST_CASE("waiting for room counts: a method that slows the consumer down loses") {
    speeds(30, 30);
    CopyPolicy policy(pretended(), last, 4 << 20, [] { return clock_ns; });
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t before = streamed_bytes;
        policy.copy(nullptr, nullptr, 16384);
        const std::int64_t wait = streamed_bytes > before ? 5000 : 500;
        clock_ns += wait;
    }
    CHECK(std::string(policy.chosen().name) == "cached");
}

TEST_CASE("a producer that computes in between does not confuse the trials") {
    speeds(2, 12);
    CopyPolicy policy(pretended(), last, 4 << 20, [] { return clock_ns; });
    std::mt19937 random(3);
    int wrong = 0;
    for (int i = 0; i < 200'000; ++i) {
        policy.copy(nullptr, nullptr, 16384);
        if (random() % 20 == 0) {
            clock_ns += 10'000'000;
        }
        wrong += std::string(policy.chosen().name) == "cached";
    }
    CHECK(wrong < 20'000);
}

TEST_CASE("with a single method there is nothing to try") {
    speeds(1, 1);
    auto methods = pretended();
    methods.pop_back();
    CopyPolicy policy(methods, last, 4 << 20, [] { return clock_ns; });
    run_for(policy, 0.1);
    CHECK(std::string(policy.chosen().name) == "cached");
}
