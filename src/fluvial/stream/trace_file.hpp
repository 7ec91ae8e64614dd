// SPDX-License-Identifier: Apache-2.0
/// The traces of a channel's ranks in files that viewers open.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fluvial/base/trace.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stream/association.hpp"

namespace fluvial::stream {

/// `path` for one rank alone: "trace.json" becomes "trace.rank-3.json".
std::string trace_path_of(const std::string& path, int rank);
/// Writes the events of one rank, of a channel that has failed, to trace_path_of(path, rank), in
/// the format of write_trace(). `start_ns` on this rank's clock is where the time of all such files
/// begins. Local; throws SystemError.
void write_own_trace(const std::string& path, int rank, const Trace& trace, std::int64_t start_ns,
                     Role role, std::span<const std::string> streams);

/// Writes the events of all ranks as Chrome's trace events (chrome://tracing, ui.perfetto.dev):
/// complete events in microseconds since the first one, a process for the channel, a thread for
/// each rank. `roles` by rank, `streams` by number. Collective, blocking; rank 0 writes.
/// SystemError on all ranks when it cannot.
void write_trace(const std::string& path, const mpi::Comm& comm, const Trace& trace,
                 std::int64_t offset_ns, std::span<const Role> roles,
                 std::span<const std::string> streams);

}  // namespace fluvial::stream
