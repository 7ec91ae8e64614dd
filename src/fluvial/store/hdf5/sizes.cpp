// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", II.A, Disk Format: Level 0A - Format
// Signature and Superblock.
#include "fluvial/store/hdf5/sizes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace fluvial::store {

namespace {

bool known(std::size_t bytes) {
    return bytes == 2 || bytes == 4 || bytes == 8;
}

}  // namespace

Hdf5Sizes hdf5_sizes(const InputFile& file) {
    constexpr char signature[] = "\x89HDF\r\n\x1a\n";
    std::array<std::byte, 16> block{};
    for (std::uint64_t at = 0; at + block.size() <= file.size();
         at = std::max<std::uint64_t>(512, 2 * at)) {
        file.read(at, block);
        if (std::memcmp(block.data(), signature, 8) != 0) {
            continue;
        }
        // Version 0 and 1: free space, root group, nothing, shared headers come before the sizes.
        const std::size_t place = std::to_integer<int>(block[8]) < 2 ? 13 : 9;
        const Hdf5Sizes sizes{std::to_integer<std::size_t>(block[place]),
                              std::to_integer<std::size_t>(block[place + 1]), at};
        return known(sizes.address_bytes) && known(sizes.length_bytes) ? sizes : Hdf5Sizes();
    }
    return {};
}

bool written_for_readers(const InputFile& file, const Hdf5Sizes& sizes) {
    constexpr std::size_t version_at = 8, flags_at = 11;
    constexpr auto swmr_writer = std::byte{0x04};
    std::array<std::byte, 12> block{};
    if (file.size() < block.size() || sizes.base > file.size() - block.size()) {
        return false;
    }
    file.read(sizes.base, block);
    return block[version_at] >= std::byte{3} && (block[flags_at] & swmr_writer) != std::byte{0};
}

std::uint64_t undefined_address(const Hdf5Sizes& sizes) {
    return ~std::uint64_t{0} >> 8 * (8 - sizes.address_bytes);
}

}  // namespace fluvial::store
