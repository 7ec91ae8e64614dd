// SPDX-License-Identifier: Apache-2.0
/// A global result and what it covers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fluvial::stream {

struct Outcome {
    std::uint64_t elements = 0;  ///< processed on all consumers
    std::vector<std::byte> result;
};

std::vector<std::byte> encode_outcome(const Outcome& outcome);
/// Throws Error when `bytes` are none.
Outcome decode_outcome(std::span<const std::byte> bytes);

}  // namespace fluvial::stream
