// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5_signature.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace fluvial::store {

bool is_hdf5(const InputFile& file) {
    constexpr std::array<unsigned char, 8> signature = {0x89, 'H',  'D',  'F',
                                                        '\r', '\n', 0x1a, '\n'};
    std::array<std::byte, 8> bytes{};
    for (std::uint64_t at = 0; at + bytes.size() <= file.size();
         at = std::max<std::uint64_t>(512, 2 * at)) {
        file.read(at, bytes);
        if (std::equal(bytes.begin(), bytes.end(), signature.begin(),
                       [](std::byte a, unsigned char b) { return a == std::byte{b}; })) {
            return true;
        }
    }
    return false;
}

}  // namespace fluvial::store
