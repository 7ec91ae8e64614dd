// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

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

/// Of ranks of which `hosts` says where each is, the one on the next host that each of them
/// watches, so that a host that fails as a whole is seen by another; the last host watches the
/// first. None where there is one host.
std::vector<int> watched_on_next_host(std::span<const int> hosts);

/// beats_between_hosts() for that: null where there is one host. Collective, blocking.
std::unique_ptr<DistantBeats> beats_to_next_host(const mpi::Comm& comm, std::span<const int> hosts,
                                                 double stall_timeout_s);

}  // namespace fluvial::move
