// SPDX-License-Identifier: Apache-2.0
/// Where ranks run, compared with where a topology says that they do.
#pragma once

#include <string>
#include <vector>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/topology.hpp"

namespace fluvial::move {

/// The name of each rank's machine, by rank. Collective, blocking: an allgather.
std::vector<std::string> host_of_each_rank(const mpi::Comm& comm);

/// The same network, with each rank on the host whose name its machine has. Collective, blocking:
/// an allgather of the names. Throws on all ranks as Topology::placed does.
route::TopologyPtr placed(const mpi::Comm& comm, const route::Topology& topology);

/// This rank runs on the host that the topology says, or the topology does not say: its hosts have
/// no names, or it does not know of so many ranks. Local.
bool is_in_place(int rank, const route::Topology& topology);

/// What happens where ranks run on other hosts than the topology says: their data goes direct, or
/// all ranks throw InvalidArgument.
enum class Displaced { GoDirect, Throw };

/// What to say where ranks are not in place, after all of them know that: a warning, or thrown.
/// Collective, blocking: an allgather of the names.
std::string say_displaced(const mpi::Comm& comm, const route::Topology& topology,
                          Displaced displaced);

/// The same where any rank is not in place; nothing where all are. An allreduce before it.
std::string check_in_place(const mpi::Comm& comm, const route::Topology& topology,
                           Displaced displaced);

}  // namespace fluvial::move
