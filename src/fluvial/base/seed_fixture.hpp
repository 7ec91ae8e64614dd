// SPDX-License-Identifier: Apache-2.0
/// Where the random tests have their seed from.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace fluvial {

/// The number in FLUVIAL_TEST_SEED, which "./run soak" draws anew for each round, or else fixed, so
/// that "./run test" finds the same today and tomorrow. Printed, because a failure is shown with
/// what its test printed.
inline std::uint32_t test_seed(std::uint32_t fixed) {
    const char* const given = std::getenv("FLUVIAL_TEST_SEED");
    const std::uint32_t seed =
        given == nullptr ? fixed : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
    std::printf("FLUVIAL_TEST_SEED=%u\n", seed);
    return seed;
}

}  // namespace fluvial
