// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/text_encoding.hpp"

#include <cstdint>

namespace fluvial::store {
namespace {

/// Bytes of the character that starts here; 0: none that UTF-8 allows (Unicode, table 3-7).
std::size_t character_bytes(std::string_view rest) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(rest[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) {
        return 1;
    }
    const std::size_t bytes = first < 0xc2   ? 0
                              : first < 0xe0 ? 2
                              : first < 0xf0 ? 3
                              : first < 0xf5 ? 4
                                             : 0;
    if (bytes == 0 || rest.size() < bytes) {
        return 0;
    }
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    const std::uint8_t second = byte(1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second >= 0xa0;
    const bool beyond = first == 0xf4 && second >= 0x90;
    return overlong || surrogate || beyond ? 0 : bytes;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t step = character_bytes(bytes);
        if (step == 0) {
            return false;
        }
        bytes.remove_prefix(step);
    }
    return true;
}

std::string to_utf8(std::string bytes) {
    if (is_utf8(bytes)) {
        return bytes;
    }
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<std::uint8_t>(c);
        if (byte < 0x80) {
            out += c;
        } else {
            out += static_cast<char>(0xc0 | (byte >> 6));
            out += static_cast<char>(0x80 | (byte & 0x3f));
        }
    }
    return out;
}

}  // namespace fluvial::store
