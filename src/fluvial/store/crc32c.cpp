// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/crc32c.hpp"

#include <array>

namespace fluvial::store {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // its bits reversed
constexpr std::size_t step = 8;                   // bytes whose tables are looked up at once

using Tables = std::array<std::array<std::uint32_t, 256>, step>;

/// tables[n][byte]: what a byte makes of the sum when n bytes follow it.
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t sum = byte;
        for (int bit = 0; bit < 8; ++bit) {
            sum = sum >> 1 ^ ((sum & 1) != 0 ? polynomial : 0);
        }
        tables[0][byte] = sum;
    }
    for (std::size_t n = 1; n < step; ++n) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[n - 1][byte];
            tables[n][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> data) {
    std::uint32_t sum = ~std::uint32_t{0};
    for (; data.size() >= step; data = data.subspan(step)) {
        std::uint32_t next = 0;
        for (std::size_t i = 0; i < step; ++i) {
            const std::uint32_t mixed = i < 4 ? sum >> 8 * i & 0xff : 0;
            next ^= tables[step - 1 - i][std::to_integer<std::uint32_t>(data[i]) ^ mixed];
        }
        sum = next;
    }
    for (const std::byte byte : data) {
        sum = sum >> 8 ^ tables[0][(sum ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
    }
    return ~sum;
}

}  // namespace fluvial::store
