// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/fletcher32.hpp"

#include <bit>
#include <cstring>

namespace fluvial::store {

namespace {

// A sum of 256 terms of 256 · 65535 at most stays in 32 bits.
constexpr std::size_t lanes = 32, rows = 256;
constexpr std::uint64_t modulus = 65535;

struct Sums {
    std::uint64_t first = 0, second = 0;  ///< of the words, and of the first sums
    bool any = false;                     ///< a word that is not zero

    void add(std::uint64_t words, std::uint64_t block_first, std::uint64_t block_second) {
        second = (second + words % modulus * first + block_second) % modulus;
        first = (first + block_first) % modulus;
        any = any || block_first != 0;
    }
};

/// `rows_here` · lanes words from `data`. Word (row, lane) counts words − row · lanes − lane times
/// in the second sum: lanes times as often as in its lane's own second sum, less `lane` times.
void add_block(const std::byte* data, std::size_t rows_here, Sums& sums) {
    std::uint32_t first[lanes] = {}, second[lanes] = {};
    for (std::size_t row = 0; row < rows_here; ++row) {
        std::uint16_t words[lanes];
        std::memcpy(words, data + row * sizeof words, sizeof words);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            first[lane] += words[lane];
            second[lane] += first[lane];
        }
    }
    std::uint64_t all_first = 0, all_second = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
        all_first += first[lane];
        all_second += lanes * std::uint64_t{second[lane]} - lane * std::uint64_t{first[lane]};
    }
    sums.add(rows_here * lanes, all_first, all_second);
}

/// HDF5 folds its sums: a multiple of 65535 that is not 0 stays 65535.
std::uint32_t folded(std::uint64_t sum, bool any) {
    return sum == 0 && any ? 0xffffU : static_cast<std::uint32_t>(sum);
}

std::uint32_t swapped(std::uint32_t word) {
    return (word << 8 | word >> 8) & 0xffffU;
}

}  // namespace

std::uint32_t fletcher32(std::span<const std::byte> data) {
    // Swapping the bytes of a word is multiplying it by 256 modulo 65535, which sums do not mind:
    // they are built from words as this machine has them, and swapped at the end.
    Sums sums;
    constexpr std::size_t row_bytes = lanes * sizeof(std::uint16_t);
    std::size_t at = 0;
    while (data.size() - at >= row_bytes) {
        const std::size_t rows_here = std::min(rows, (data.size() - at) / row_bytes);
        add_block(data.data() + at, rows_here, sums);
        at += rows_here * row_bytes;
    }
    for (; at < data.size(); at += sizeof(std::uint16_t)) {
        std::byte two[2] = {data[at], at + 1 < data.size() ? data[at + 1] : std::byte{0}};
        const auto word = std::bit_cast<std::uint16_t>(two);
        sums.add(1, word, word);
    }
    const std::uint32_t first = folded(sums.first, sums.any);
    const std::uint32_t second = folded(sums.second, sums.any);
    if constexpr (std::endian::native == std::endian::little) {
        return swapped(second) << 16 | swapped(first);
    } else {
        return second << 16 | first;
    }
}

}  // namespace fluvial::store
