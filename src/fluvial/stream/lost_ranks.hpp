// SPDX-License-Identifier: Apache-2.0
/// How a rank of a channel sees that another one is dead or stopped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/distant_beats.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/failure.hpp"
#include "fluvial/progress/heartbeats.hpp"
#include "fluvial/stream/association.hpp"
#include "fluvial/stream/channel.hpp"

namespace fluvial::stream {

inline constinit const std::atomic<std::uint64_t> no_beats{0};

class LostRanks {
  public:
    /// On this host: processes whose death can be seen, and heartbeats where they are wanted.
    /// `members`, of whom `rank` is this one, outlives it. Local. Throws SystemError.
    void watch_host(const std::vector<Member>& members, int rank, const ChannelOptions& options);
    /// Heartbeats of the next host: it may fail or be cut off, and its own ranks cannot tell.
    /// Collective.
    void watch_next_host(const mpi::Comm& comm);
    void end();

    /// The rank that is lost, and how. Local.
    std::optional<mpi::Failure> look();
    /// By the clock of now_ns(), when look() was called last.
    std::int64_t looked_ns() const { return looked_ns_; }
    /// Of this process, until end(); none where no other rank is on this host.
    const std::atomic<std::uint64_t>& beats() const {
        return heartbeats_ ? heartbeats_->own() : no_beats;
    }

  private:
    std::optional<mpi::Failure> dead() const;
    std::optional<mpi::Failure> stalled();
    std::optional<mpi::Failure> distant();

    const std::vector<Member>* members_ = nullptr;
    double dead_after_s_ = 0, stall_timeout_s_ = 0;
    std::vector<int> watched_;                           ///< members whose processes are seen
    std::unique_ptr<progress::Heartbeats> heartbeats_;   ///< null where there are none
    std::unique_ptr<move::DistantBeats> distant_beats_;  ///< the same
    std::int64_t looked_ns_ = now_ns();
    std::int64_t looked_for_the_dead_ns_ = now_ns();
};

}  // namespace fluvial::stream
