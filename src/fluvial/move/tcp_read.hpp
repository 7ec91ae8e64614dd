// SPDX-License-Identifier: Apache-2.0
/// Remote reads over TCP: the owner sends contiguous parts from where they lie, and packs others, a
/// piece at a time: a large read costs it little memory, and no other reader much time.
///
/// A request is a message with all boxes. The reply is a message, which says how many bytes follow
/// or what went wrong, and then the bytes as they are; with `encrypt` in messages.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "fluvial/move/packed.hpp"
#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/remote_request.hpp"
#include "fluvial/move/secure_connection.hpp"
#include "fluvial/progress/spin_first.hpp"

namespace fluvial::move {

class TcpRemoteReader final : public RemoteReader {
  public:
    /// Over a connection of which both ends know the purpose.
    TcpRemoteReader(SecureConnection connection, bool encrypt)
        : connection_(std::move(connection)), encrypt_(encrypt) {}
    void read(std::span<const RemoteBox> boxes,
              const std::function<void(double silent_s)>& look) override;
    bool usable() const override { return !broken_; }
    std::string transport() const override { return encrypt_ ? "tcp, encrypted" : "tcp"; }

  private:
    class Response;

    SecureConnection connection_;
    bool encrypt_;
    progress::SpinFirst spin_first_;
    std::mutex mutex_;
    std::atomic<bool> broken_ = false;  ///< a read ended in the middle
};

class TcpRemoteServer final : public RemoteServer {
  public:
    TcpRemoteServer(SecureConnection connection, bool encrypt)
        : connection_(std::move(connection)), encrypt_(encrypt) {}
    void advance(Exposed& exposed) override;
    bool sending() const override { return connection_.sending() || more_to_send(); }
    int descriptor() const override { return connection_.descriptor(); }

  private:
    void answer(const Bytes& request, Exposed& exposed);
    bool more_to_send() const { return !part_.bytes.empty() || !boxes_.empty(); }
    PackedBytes next_part();
    PackedBytes next_part_or_end();
    bool send_parts();

    SecureConnection connection_;
    bool encrypt_;
    PackedBytes part_;                ///< that is still to be sent ...
    std::deque<RequestedBox> boxes_;  ///< ... and what follows it
};

}  // namespace fluvial::move
