// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "fluvial/move/distant_beats.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::move {

/// The heartbeats between this rank and those ranks, all on other hosts, of which `meets` is true:
/// of two ranks it is true on both, or on none. Those of which `watches` is true, too, are watched.
/// The network is that of the environment (FLUVIAL_NETWORK, FLUVIAL_PORTS), as for series between
/// hosts. Null where this rank meets nobody, or there is no network. Collective, blocking: an
/// allgather of some 100 bytes a rank. Throws InvalidArgument, SystemError on all ranks.
std::unique_ptr<DistantBeats> beats_between_hosts(const mpi::Comm& comm, double stall_timeout_s,
                                                  const std::function<bool(int)>& meets,
                                                  const std::function<bool(int)>& watches);

}  // namespace fluvial::move
