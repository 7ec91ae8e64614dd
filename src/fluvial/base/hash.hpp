// SPDX-License-Identifier: Apache-2.0
/// A number from bytes that spreads well and is the same on every machine of one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace fluvial {

/// The finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, doi:10.1145/2660193.2660195) over
/// 8 bytes at a time. For spreading keys, not against an adversary.
inline std::uint64_t hash_of(std::span<const std::byte> bytes) {
    const auto mix = [](std::uint64_t x) {
        x ^= x >> 30;
        x *= 0xbf58476d1ce4e5b9;
        x ^= x >> 27;
        x *= 0x94d049bb133111eb;
        return x ^ (x >> 31);
    };
    std::uint64_t hash = mix(bytes.size() + 0x9e3779b97f4a7c15);
    while (!bytes.empty()) {
        const std::size_t n = bytes.size() < 8 ? bytes.size() : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), n);
        hash = mix(hash + word + 0x9e3779b97f4a7c15);
        bytes = bytes.subspan(n);
    }
    return hash;
}

}  // namespace fluvial
