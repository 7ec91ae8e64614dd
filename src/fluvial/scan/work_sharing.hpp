// SPDX-License-Identifier: Apache-2.0
/// Which lane does which units of a scan. Each lane has a share that lies together in the file and
/// takes from its front. Where the result does not depend on it, a lane that has no more takes from
/// the end of its host's fullest share: cores are not equally fast, nor are the parts of a file.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/host/host_memory.hpp"

namespace fluvial::scan {

/// Units [begin, end).
using UnitRange = std::pair<Index, Index>;

/// What is left of a lane's share: begin << 32 | end.
struct alignas(64) Share {
    std::atomic<std::uint64_t> left{0};
};

/// The lanes of a rank share their work. Threads take at the same time, each for its own lane.
class WorkSharing {
  public:
    static constexpr Index batch_max = 64;
    /// Shares of more units than this cannot be helped with.
    static constexpr Index units_max = (Index{1} << 32) - 1;

    /// Each lane does its share, and no other.
    explicit WorkSharing(std::vector<UnitRange> shares) : own_(std::move(shares)) {}
    WorkSharing(const WorkSharing&) = delete;
    WorkSharing& operator=(const WorkSharing&) = delete;
    ~WorkSharing() { memory_.abandon(); }

    /// Lanes of this process help each other. Before anything was taken.
    void help_here();
    /// Lanes of all ranks of the host help each other. Before anything was taken. Collective over
    /// `comm`, blocking.
    void help_on_host(const mpi::Comm& comm);

    /// The next units of lane `lane` of this rank, at most `most`.
    std::optional<UnitRange> take(std::size_t lane, Index most = batch_max);
    /// No rank does what is left of this rank's shares.
    void give_up();
    /// No lane of any rank takes any more. Collective where ranks help each other.
    void close();

  private:
    void put_shares(std::span<Share> to);

    std::vector<UnitRange> own_;  ///< what is left of them, unless they are shared
    std::unique_ptr<Share[]> here_;
    host::HostMemory memory_;
    std::span<Share> mine_;                ///< empty: no help
    std::vector<std::span<Share>> ranks_;  ///< of the host
};

}  // namespace fluvial::scan
