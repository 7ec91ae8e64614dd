// SPDX-License-Identifier: Apache-2.0
/// Takes big-endian numbers and text off the front of a file, never more than it holds.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "fluvial/store/input_file.hpp"

namespace fluvial::store {

/// One thread at a time; the file must outlive it. Everything throws DamagedFile, which says where.
class HeaderReader {
  public:
    /// No header is longer, however large the file.
    static constexpr std::uint64_t header_bytes_max = 64 << 20;

    /// `what` is read, e.g. "netCDF header".
    HeaderReader(const InputFile& file, std::string what);

    std::uint64_t position() const { return start_ + at_; }
    /// Bytes that may still come.
    std::uint64_t left() const { return end_ - position(); }

    std::byte byte();
    std::uint32_t u32() { return number<std::uint32_t>(); }
    std::uint64_t u64() { return number<std::uint64_t>(); }
    template <class T>
    T number() {
        std::array<std::byte, sizeof(T)> bytes;
        take(bytes);
        if constexpr (std::endian::native == std::endian::little) {
            for (std::size_t i = 0; i < sizeof(T) / 2; ++i) {
                std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
            }
        }
        return std::bit_cast<T>(bytes);
    }
    std::string text_of(std::uint64_t bytes);
    void skip(std::uint64_t bytes);

    /// Throws unless `elements` of `element_bytes` each, or more, may still come: to be called
    /// before memory is taken for them.
    void expect(std::uint64_t elements, std::uint64_t element_bytes) const;

    /// DamagedFile with the place.
    [[noreturn]] void damaged(const std::string& what, const std::string& seen,
                              const std::string& allowed) const;

  private:
    void take(std::span<std::byte> to);

    const InputFile& file_;
    std::string what_;
    std::uint64_t end_;
    std::vector<std::byte> window_;  ///< bytes of the file from start_ on
    std::uint64_t start_ = 0;
    std::size_t at_ = 0;  ///< in window_
};

}  // namespace fluvial::store
