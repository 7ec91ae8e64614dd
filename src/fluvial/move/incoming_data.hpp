// SPDX-License-Identifier: Apache-2.0
/// Data on a connection, between its messages: as they are, or encrypted in messages of their own.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {

/// Of a message of encrypted data, at most: it stays in a processor's cache.
inline constexpr std::size_t encrypted_part_bytes = 64 * 1024;

/// Queues bytes for the other side's IncomingData. What is not encrypted stays as it is until it is
/// sent, for as long as `owner` is kept.
inline void post_data(SecureConnection& connection, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner, bool encrypt) {
    if (!encrypt) {
        connection.post_raw(bytes, std::move(owner));
        return;
    }
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min(bytes.size(), encrypted_part_bytes));
        connection.post(part);
        bytes = bytes.subspan(part.size());
    }
}

class IncomingData {
  public:
    /// They come as they are, or with `encrypt` in messages.
    explicit IncomingData(bool encrypt) : encrypt_(encrypt) {}

    /// How many have come, into `to`; 0: none for now. Throws as SecureConnection::take.
    std::size_t take(SecureConnection& connection, std::span<std::byte> to) {
        if (!encrypt_) {
            return connection.read_raw(to);
        }
        if (opened_.empty()) {
            if (const std::size_t bytes = connection.take_into(to); bytes > 0) {
                return bytes;
            }
            if (auto part = connection.take()) {
                part_ = std::move(*part);
                opened_ = part_;
            }
        }
        const std::size_t bytes = std::min(to.size(), opened_.size());
        std::copy_n(opened_.begin(), bytes, to.begin());
        opened_ = opened_.subspan(bytes);
        return bytes;
    }

  private:
    bool encrypt_;
    Bytes part_;
    std::span<const std::byte> opened_;
};

}  // namespace fluvial::move
