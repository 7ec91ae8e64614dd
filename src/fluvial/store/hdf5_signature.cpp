// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5_signature.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

namespace {

constexpr std::array<unsigned char, 8> hdf5_signature = {0x89, 'H',  'D',  'F',
                                                         '\r', '\n', 0x1a, '\n'};

bool begins_as_hdf5(std::span<const std::byte> bytes) {
    return std::equal(hdf5_signature.begin(), hdf5_signature.end(), bytes.begin(),
                      [](unsigned char a, std::byte b) { return std::byte{a} == b; });
}

}  // namespace

bool is_hdf5(const InputFile& file) {
    std::array<std::byte, 8> bytes{};
    for (std::uint64_t at = 0; at + bytes.size() <= file.size();
         at = std::max<std::uint64_t>(512, 2 * at)) {
        file.read(at, bytes);
        if (begins_as_hdf5(bytes)) {
            return true;
        }
    }
    return false;
}

Hdf5Writer hdf5_writer_of(const std::string& path) {
    constexpr std::size_t version_at = 8, flags_at = 11;
    constexpr std::byte open_for_writing{0x01}, for_readers{0x04}, none{0};
    std::array<std::byte, 12> block{};
    try {
        const InputFile file(path);
        if (file.size() < block.size()) {
            return Hdf5Writer::Unknown;
        }
        file.read(0, block);
    } catch (const Error&) {
        return Hdf5Writer::Unknown;
    }
    if (!begins_as_hdf5(block) || block[version_at] < std::byte{3}) {
        return Hdf5Writer::Unknown;
    }
    if ((block[flags_at] & for_readers) != none) {
        return Hdf5Writer::WithReaders;
    }
    return (block[flags_at] & open_for_writing) != none ? Hdf5Writer::Alone : Hdf5Writer::None;
}

}  // namespace fluvial::store
