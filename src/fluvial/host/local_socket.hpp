// SPDX-License-Identifier: Apache-2.0
/// Messages with descriptors between processes of one host: a sequenced-packet socket in the
/// abstract namespace, which leaves no file behind.
///
/// Any process on the host may connect and send anything, so descriptors come in only where they
/// were asked for: the kernel refuses all others (SO_PASSRIGHTS, Linux 6.16) or throws them away,
/// because they find no room (before).
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/host/memory_file.hpp"

namespace fluvial::host {

struct Message {
    Bytes bytes;
    std::vector<Descriptor> descriptors;
};

/// One end of a connection. No call blocks but `connect`, `send` and `receive`, up to their
/// deadline.
class LocalSocket {
  public:
    explicit LocalSocket(Descriptor descriptor);
    /// None when no process listens on `address` (any more). Throws TimedOut when the listener's
    /// queue stays full.
    static std::optional<LocalSocket> connect(const std::string& address, const Deadline& deadline);

    /// Sends one message of at most 64 KiB with any number of descriptors (over 200 go in several
    /// packets). Throws PeerLost when the other side is gone.
    void send(std::span<const std::byte> bytes, const std::vector<int>& descriptors,
              const Deadline& deadline);
    /// Throws TimedOut, PeerLost when the other side has closed, or Error when it sends more than
    /// `descriptors_max` descriptors.
    Message receive(const Deadline& deadline, std::size_t descriptors_max = 0);

    /// The same in parts that do not wait. `post` queues a message, whose descriptors must stay
    /// open until `flush` has sent all that it can and returns true. `take` returns a message once
    /// it is complete.
    void post(std::span<const std::byte> bytes, const std::vector<int>& descriptors = {});
    bool flush();
    std::optional<Message> take(std::size_t descriptors_max = 0);

    /// From now on the peer may send descriptors.
    void allow_descriptors();
    /// The user as which the process at the other end connected, or listened.
    uid_t peer_user() const;
    int descriptor() const { return descriptor_.get(); }

  private:
    struct Packet {
        Bytes bytes;
        std::vector<int> descriptors;
    };

    Descriptor descriptor_;
    std::deque<Packet> outgoing_;
    std::optional<Message> incoming_;  ///< whose descriptors are still coming
    std::size_t expected_ = 0;         ///< descriptors of `incoming_`
};

class LocalListener {
  public:
    explicit LocalListener(const std::string& address);
    /// A connection that waits; does not block. Throws SystemError when there is no descriptor for
    /// it.
    std::optional<LocalSocket> accept();
    /// The same with the last descriptor, which is kept for this: to tell the peer why it is not
    /// served. Call `restock` when it is closed.
    std::optional<LocalSocket> accept_in_need();
    void restock();
    /// Wakes the thread that polls the listener; no process can connect any more.
    void stop();
    int descriptor() const { return descriptor_.get(); }

  private:
    Descriptor descriptor_;
    Descriptor reserve_;
};

/// Waits at most `timeout_ms` until there is something to accept or to take; true when there is.
bool wait_for_input(int descriptor, int timeout_ms);

}  // namespace fluvial::host
