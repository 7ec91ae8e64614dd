// SPDX-License-Identifier: Apache-2.0
/// One shared file of data that ranks have very unevenly.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/move/placement.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/rank_plan.hpp"
#include "fluvial/route/topology.hpp"

namespace fluvial::move {

class WatchedTask;

/// What a rank has, and its place in the file.
struct FilePart {
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
};

struct SparseWriteOptions {
    std::size_t writers = 0;  ///< ranks that write; 0: one for each host
    std::uint64_t align = 1 << 20;
    std::uint64_t window_bytes = 32 << 20;  ///< that a writer holds at a time, a multiple of align
    double stall_timeout_s = 300;
    /// Where there is one, writers are chosen by it (aggregators.hpp), and data goes to them along
    /// planned paths.
    route::TopologyPtr topology = nullptr;
    route::RankPlanOptions plan = {};
    Displaced displaced = Displaced::GoDirect;
    /// Of which the write is a part (rank_watch.hpp). Null: it is a task of its own.
    std::shared_ptr<const WatchedTask> task = nullptr;
};

struct SparseWritten {
    std::uint64_t bytes = 0;    ///< of the data of all ranks
    std::uint64_t here = 0;     ///< that this rank has written
    std::uint64_t at_most = 0;  ///< that any rank has written
    std::vector<int> writers;   ///< the ranks that wrote, in the order of their parts of the file
    std::size_t paths_max = 1;  ///< the most paths by which one rank's data went to a writer
    std::string warning;        ///< why all data went direct in spite of a topology; on all ranks
};

/// Writes the parts of all ranks into the file, which is made where there is none; what the file
/// has elsewhere stays. Some ranks write, each as much data as the others, in large blocks
/// (write_plan.hpp); the others send to these. The file is as if each rank had written its own
/// parts. Collective, blocking. Beside the data an allgather of 16 bytes a part, and two agreements
/// a window. A writer holds two windows at a time, and a rank copies of what it sends to the
/// windows of one round. Throws on all ranks: InvalidArgument where parts overlap or options are
/// out of range, SystemError where the file cannot be written; PeerLost and PeerStalled where a
/// rank has died on its host, or is stopped for longer than the time-out, 2 s at least; and as
/// move::exchange. The first call on `comm` makes what watches the ranks, which goes with it.
SparseWritten sparse_write(const mpi::Comm& comm, const std::string& path,
                           std::span<const FilePart> parts, const SparseWriteOptions& options = {});

}  // namespace fluvial::move
