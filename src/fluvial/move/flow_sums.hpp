// SPDX-License-Identifier: Apache-2.0
/// Checksums of flows from end to end: of what the source has, and of what has come.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "fluvial/move/multipath.hpp"
#include "fluvial/move/path_control.hpp"

namespace fluvial::move {

/// The checksums of one exchange, on one rank.
class FlowSums {
  public:
    /// Tells the destination of each flow that begins here what its checksum is. Local.
    FlowSums(const mpi::Comm& comm, std::span<const route::RankFlow> flows,
             std::span<const Outgoing> outgoing, Controls& controls);
    void hear(const Control& sum) { sums_[sum.flow] = sum.value; }
    /// The sums of all flows that end here are known.
    bool complete() const { return sums_.size() == wanted_; }

    /// Throws DamagedMessage on all ranks for the first flow that has come with other bytes. Waits
    /// `patience_s` for the other ranks; then throws TimedOut, or where one of them is `missing`
    /// anyway, says what this rank knows alone. Collective, blocking; an allreduce of 8 bytes.
    void compare(std::span<const Arrived> arrived, double patience_s, bool missing) const;

  private:
    const mpi::Comm& comm_;
    std::span<const route::RankFlow> flows_;
    std::size_t wanted_ = 0;
    std::map<std::uint64_t, std::uint64_t> sums_;  ///< by flow
};

}  // namespace fluvial::move
