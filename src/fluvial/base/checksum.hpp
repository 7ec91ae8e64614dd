// SPDX-License-Identifier: Apache-2.0
/// A number that tells whether bytes are still what they were, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fluvial/base/hash.hpp"

namespace fluvial {

/// Eight lanes of a multiplicative hash over 8 bytes each, so that the multiplications overlap. A
/// change within one word always changes the sum; other damage goes unseen once in 2^64. Not
/// against an adversary. The same on every machine of one byte order.
inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    constexpr std::size_t lanes = 8;
    constexpr std::size_t block = lanes * sizeof(std::uint64_t);
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t lane[lanes] = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::size_t size = bytes.size();
    while (bytes.size() >= block) {
        std::uint64_t words[lanes];
        std::memcpy(words, bytes.data(), block);
        for (std::size_t i = 0; i < lanes; ++i) {
            lane[i] = (lane[i] ^ words[i]) * odd;
            lane[i] ^= lane[i] >> 32;
        }
        bytes = bytes.subspan(block);
    }
    return hash_of(std::as_bytes(std::span(lane))) ^ (hash_of(bytes) + size * odd);
}

}  // namespace fluvial
