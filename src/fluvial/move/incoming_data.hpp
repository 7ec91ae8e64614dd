// SPDX-License-Identifier: Apache-2.0
/// The bytes behind an answer on a connection for data (tcp_read.hpp).
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {

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
