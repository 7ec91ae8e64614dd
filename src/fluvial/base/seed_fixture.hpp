// SPDX-License-Identifier: Apache-2.0
/// Where the random tests have their seed from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace fluvial {

/// The numbers in FLUVIAL_TEST_SEED, between commas, which "./run soak" draws anew for each round.
/// The main program of the tests runs the random test cases with one after the other.
struct SeedsOfRun {
    std::vector<std::uint32_t> given;
    std::size_t current = 0;
    std::atomic<bool> asked_for = false;   // since the test case began: it is a random one
    std::atomic<std::uint64_t> shown = 0;  // the last one that was printed, and 1
};

inline SeedsOfRun& seeds_of_run() {
    static SeedsOfRun seeds;
    static const bool read = [] {
        const char* rest = std::getenv("FLUVIAL_TEST_SEED");
        while (rest != nullptr && *rest != '\0') {
            char* end = nullptr;
            seeds.given.push_back(static_cast<std::uint32_t>(std::strtoul(rest, &end, 10)));
            rest = *end == ',' ? end + 1 : nullptr;
        }
        return true;
    }();
    static_cast<void>(read);
    return seeds;
}

/// The present one of FLUVIAL_TEST_SEED, or else `fixed`, so that "./run test" finds the same today
/// and tomorrow. Printed, because a failure is shown with what its test printed. Asked for anew in
/// each test case, because the next run of the same test case has another one.
inline std::uint32_t test_seed(std::uint32_t fixed) {
    SeedsOfRun& seeds = seeds_of_run();
    const std::uint32_t seed = seeds.given.empty() ? fixed : seeds.given[seeds.current];
    seeds.asked_for = true;
    if (seeds.shown.exchange(seed + std::uint64_t{1}) != seed + std::uint64_t{1}) {
        std::printf("FLUVIAL_TEST_SEED=%u\n", seed);
        std::fflush(stdout);  // a program that crashes says nothing later
    }
    return seed;
}

/// A seed that several test cases of a file use: test_seed() whenever it is read.
class TestSeed {
  public:
    explicit constexpr TestSeed(std::uint32_t fixed) : fixed_(fixed) {}

    // NOLINTNEXTLINE(google-explicit-constructor): it is used as the number that it is
    operator std::uint32_t() const { return test_seed(fixed_); }

  private:
    std::uint32_t fixed_;
};

}  // namespace fluvial
