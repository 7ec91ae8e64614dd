// SPDX-License-Identifier: Apache-2.0
/// A number that tells whether bytes are still what they were, at the speed of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fluvial/base/hash.hpp"

namespace fluvial {

/// Eight lanes of a multiplicative hash over 8 bytes each, so that the multiplications overlap. A
/// change within one word always changes the sum; other damage goes unseen once in 2^64. Not
/// against an adversary. The same on every machine of one byte order.
class Checksum {
  public:
    static constexpr std::size_t block = 64;

    /// All pieces but the last are multiples of `block`.
    void add(std::span<const std::byte> bytes) {
        size_ += bytes.size();
        const std::size_t blocks = bytes.size() / block;
        add_blocks(bytes.data(), blocks);
        rest_ = hash_of(bytes.subspan(blocks * block));
    }
    std::uint64_t value() const {
        return hash_of(std::as_bytes(std::span(lane_))) ^ (rest_ + size_ * odd);
    }

  private:
    void add_blocks(const std::byte* bytes, std::size_t blocks);

    static constexpr std::size_t lanes = block / sizeof(std::uint64_t);
    static constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t lane_[lanes] = {1, 2, 3, 4, 5, 6, 7, 8};
    std::uint64_t rest_ = hash_of({});
    std::size_t size_ = 0;
};

inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
    Checksum sum;
    sum.add(bytes);
    return sum.value();
}

}  // namespace fluvial
