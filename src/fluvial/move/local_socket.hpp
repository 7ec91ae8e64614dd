// SPDX-License-Identifier: Apache-2.0
/// Messages with descriptors between processes of one host: a sequenced-packet socket in the
/// abstract namespace, which leaves no file behind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/move/memory_file.hpp"

namespace fluvial::move {

struct Message {
    Bytes bytes;
    std::vector<Descriptor> descriptors;
};

class LocalSocket {
  public:
    explicit LocalSocket(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
    /// None when nobody listens on `address` (any more).
    static std::optional<LocalSocket> connect(const std::string& address);

    /// Sends one message of at most 64 KiB with any number of descriptors (over 200 go in several
    /// packets). Throws PeerLost when the other side is gone.
    void send(std::span<const std::byte> bytes, const std::vector<int>& descriptors = {});
    /// Throws TimedOut, or PeerLost when the other side has closed.
    Message receive(const Deadline& deadline);
    /// True when the process at the other end runs as our user, or as root.
    bool peer_is_same_user() const;

  private:
    Descriptor descriptor_;
};

class LocalListener {
  public:
    explicit LocalListener(const std::string& address);
    /// Waits at most `timeout_ms` for a connection.
    std::optional<LocalSocket> accept(int timeout_ms);
    /// Ends an accept that waits in another thread; no later one waits.
    void stop();

  private:
    Descriptor descriptor_;
};

}  // namespace fluvial::move
