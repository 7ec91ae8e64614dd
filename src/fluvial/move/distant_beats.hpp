// SPDX-License-Identifier: Apache-2.0
/// Heartbeats between ranks on different hosts: datagrams (UDP) that carry a count, and a proof
/// that their sender knows the key of the job. Whether a process runs is known without MPI, which
/// moves nothing while a rank computes and says nothing about one that is stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/move/network.hpp"
#include "fluvial/move/secure_connection.hpp"
#include "fluvial/progress/service_thread.hpp"
#include "fluvial/progress/stall_watch.hpp"

namespace fluvial::move {

/// A key that nobody can guess.
SharedKey drawn_key();

/// Where a rank's beats come from, and where those for it arrive.
class BeatSocket {
  public:
    /// `network` and `ports` as in network.hpp; `only_ipv4` as where the kernel has no IPv6. Throws
    /// InvalidArgument, and SystemError when no port is free.
    BeatSocket(const std::string& network, const PortRange& ports, bool only_ipv4 = false);
    int descriptor() const { return descriptor_.get(); }
    /// AF_INET6, which is for both kinds of addresses, or AF_INET.
    int family() const { return family_; }
    /// Empty when the network is "off", or no descriptor is free.
    const std::vector<Endpoint>& reachable_at() const { return reachable_at_; }

  private:
    host::Descriptor descriptor_;
    int family_ = 0;
    std::vector<Endpoint> reachable_at_;
};

/// A thread of the process beats, and takes the others' beats. Datagrams may be lost, come late or
/// twice, and be anybody's: only a count that grows, with the right proof, is a beat. A member that
/// was never heard (a firewall lets no datagrams through) is not watched.
class DistantBeats final : private progress::ServiceThread::Customer {
  public:
    struct Other {
        int member = 0;
        std::vector<Endpoint> reachable_at;
        bool watched = true;  ///< false: it gets beats, and whether it beats does not matter
    };
    struct Silent {
        int member = 0;
        double silent_s = 0;
    };

    /// Beats to each of `others` as member `own`; their beats are expected here. Local.
    DistantBeats(BeatSocket socket, const SharedKey& key, int own, std::vector<Other> others,
                 double stall_timeout_s);
    ~DistantBeats() override;
    DistantBeats(const DistantBeats&) = delete;
    DistantBeats& operator=(const DistantBeats&) = delete;

    /// A member that was heard, and then not for more than stall_timeout_s of this rank's own time.
    /// Local. Not again after forget().
    std::optional<Silent> look();
    /// It is neither watched nor sent beats any more.
    void forget(int member);
    /// Beats of a member that have come.
    std::uint64_t heard(int member) const;

  private:
    struct Peer {
        int member = 0;
        std::vector<Endpoint> reachable_at;
        bool watched = true;                  ///< for look() alone
        std::atomic<std::uint64_t> count{0};  ///< the last that came
        std::atomic<bool> forgotten{false};
    };

    std::optional<std::int64_t> visit(const progress::ServiceThread& by) override;
    void take();
    void send();

    BeatSocket socket_;
    SharedKey key_;
    int own_;
    std::int64_t interval_ns_;
    std::vector<std::unique_ptr<Peer>> peers_;
    std::atomic<std::uint64_t> beats_{0};  ///< of this rank since the beginning
    progress::StallWatch watch_;
    std::vector<std::uint64_t> seen_;
};

}  // namespace fluvial::move
