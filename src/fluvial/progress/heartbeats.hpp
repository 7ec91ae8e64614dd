// SPDX-License-Identifier: Apache-2.0
/// The heartbeats of the ranks of one host, each in memory of its process that the others map: a
/// process that is stopped (SIGSTOP, a debugger, a frozen container) is alive, and does not beat.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fluvial/host/file_place.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/progress/service_thread.hpp"
#include "fluvial/progress/stall_watch.hpp"

namespace fluvial::progress {

inline constexpr double stall_timeout_min_s = 0.2;

/// Where the others find the beats of this process; made at the first call. No place where that
/// does not work: then no rank sees them.
host::FilePlace own_beats_place();

/// A thread of the process beats, one for all channels, which calls no MPI: a rank that computes
/// for hours beats. It wakes four times a second, and more often only for a limit below two
/// seconds.
class Heartbeats final : private ServiceThread::Customer {
  public:
    struct Silent {
        int member = 0;
        double silent_s = 0;
    };

    /// A member on this host, and where it beats (own_beats_place() there).
    struct Neighbour {
        int member = 0;
        host::FilePlace beats;
    };

    /// Null without neighbours, and without a time limit. Local.
    static std::unique_ptr<Heartbeats> begin(std::span<const Neighbour> neighbours,
                                             double stall_timeout_s);
    /// Ends this rank's own beats.
    ~Heartbeats() override;
    Heartbeats(const Heartbeats&) = delete;
    Heartbeats& operator=(const Heartbeats&) = delete;

    /// A member that has not beaten for more than stall_timeout_s of this rank's own time. Local.
    std::optional<Silent> look();
    /// Those of this process since the beginning: a clock that costs a load.
    const std::atomic<std::uint64_t>& own() const { return own_; }

  private:
    struct Other {
        int member = 0;
        std::shared_ptr<const host::Mapping> memory;
    };

    Heartbeats(std::vector<Other> others, double stall_timeout_s);
    std::optional<std::int64_t> visit(const ServiceThread& by) override;

    std::vector<Other> others_;  ///< that can be seen
    std::int64_t interval_ns_;
    std::atomic<std::uint64_t> own_{0};  ///< beats since the beginning
    StallWatch watch_;
    std::vector<std::uint64_t> beats_;  ///< of others, as seen last
};

}  // namespace fluvial::progress
