// SPDX-License-Identifier: Apache-2.0
/// Little binary messages: appended on one side, taken off with bounds checks on the other. Host
/// byte order: both sides are on one host, or have agreed on it before.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fluvial/base/error.hpp"

namespace fluvial {

using Bytes = std::vector<std::byte>;

class ByteWriter {
  public:
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void put(const T& value) {
        append(&value, sizeof value);
    }
    void put_string(std::string_view s) { put_block(s.data(), s.size()); }
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void put_vector(const std::vector<T>& values) {
        put<std::uint64_t>(values.size());
        append(values.data(), values.size() * sizeof(T));
    }
    void put_block(const void* data, std::size_t bytes) {
        put<std::uint64_t>(bytes);
        append(data, bytes);
    }
    /// The same, so that it lies at a multiple of 16 bytes.
    void put_aligned_block(const void* data, std::size_t bytes) {
        put<std::uint64_t>(bytes);
        bytes_.resize(aligned(bytes_.size()));
        append(data, bytes);
    }
    void append(const void* data, std::size_t bytes);
    std::size_t size() const { return bytes_.size(); }
    std::span<const std::byte> view() const { return bytes_; }
    Bytes take() { return std::move(bytes_); }
    void clear() { bytes_.clear(); }

    /// The next place that is aligned.
    static constexpr std::size_t aligned(std::size_t at) { return (at + 15) / 16 * 16; }

  private:
    Bytes bytes_;
};

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : begin_(bytes.data()), rest_(bytes) {}

    template <class T>
        requires std::is_trivially_copyable_v<T>
    T get() {
        T value;
        std::memcpy(&value, need(sizeof(T)), sizeof(T));
        return value;
    }
    std::string get_string() {
        const auto block = get_block();
        return {reinterpret_cast<const char*>(block.data()), block.size()};
    }
    template <class T>
        requires std::is_trivially_copyable_v<T>
    std::vector<T> get_vector() {
        const auto count = get<std::uint64_t>();
        if (count > rest_.size() / sizeof(T)) {
            truncated(count);
        }
        std::vector<T> values(count);
        if (count > 0) {
            std::memcpy(values.data(), need(count * sizeof(T)), count * sizeof(T));
        }
        return values;
    }
    std::span<const std::byte> get_block() {
        const auto bytes = get<std::uint64_t>();
        return {need(bytes), static_cast<std::size_t>(bytes)};
    }
    std::span<const std::byte> get_aligned_block() {
        const auto bytes = get<std::uint64_t>();
        const auto at = static_cast<std::size_t>(rest_.data() - begin_);
        need(ByteWriter::aligned(at) - at);
        return {need(bytes), static_cast<std::size_t>(bytes)};
    }
    bool done() const { return rest_.empty(); }

  private:
    const std::byte* need(std::uint64_t bytes) {
        if (bytes > rest_.size()) {
            truncated(bytes);
        }
        const std::byte* at = rest_.data();
        rest_ = rest_.subspan(bytes);
        return at;
    }
    [[noreturn]] void truncated(std::uint64_t wanted) const {
        throw Error(Problem{"a message is truncated or corrupt",
                            text(rest_.size(), " bytes left, ", wanted, " needed"), "",
                            "Check that both jobs use the same version of Fluvial"});
    }

    const std::byte* begin_;
    std::span<const std::byte> rest_;
};

}  // namespace fluvial
