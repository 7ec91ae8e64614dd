// SPDX-License-Identifier: Apache-2.0
/// Little-endian numbers of HDF5, and those off the front of bytes, never more than there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fluvial::store {

inline std::uint64_t little_endian(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
        value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return value;
}

/// Zeros, and not good() any more, after the end.
class Front {
  public:
    explicit Front(std::span<const std::byte> bytes) : rest_(bytes) {}

    std::uint64_t number(std::size_t bytes) { return little_endian(take(bytes)); }
    std::span<const std::byte> take(std::uint64_t bytes) {
        if (bytes > rest_.size()) {
            good_ = false;
            rest_ = {};
            return {};
        }
        const auto front = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return front;
    }
    /// Text up to its zero byte, which is taken, too; not good() without one.
    std::span<const std::byte> text() {
        const auto end = std::find(rest_.begin(), rest_.end(), std::byte{0});
        if (end == rest_.end()) {
            return take(rest_.size() + 1);
        }
        const auto found = take(static_cast<std::uint64_t>(end - rest_.begin()) + 1);
        return found.first(found.size() - 1);
    }
    bool good() const { return good_; }
    std::size_t left() const { return rest_.size(); }

  private:
    std::span<const std::byte> rest_;
    bool good_ = true;
};

}  // namespace fluvial::store
