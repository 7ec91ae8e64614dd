// SPDX-License-Identifier: Apache-2.0
/// Which of the ranks of a communicator that run on this host are dead.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fluvial/host/process.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::host {

/// Sees processes of the same boot and the same process namespace.
class ProcessWatch {
  public:
    /// Looks no more often than every `every_s` seconds. Collective over `comm`, blocking; an
    /// allgather of 24 bytes.
    ProcessWatch(const mpi::Comm& comm, double every_s);

    /// A rank that is dead, if any is. Local; some microseconds a rank where it looks.
    std::optional<int> dead_rank();

  private:
    std::vector<std::pair<int, Process>> others_;
    std::int64_t every_ns_;
    std::int64_t looked_ns_;
};

}  // namespace fluvial::host
