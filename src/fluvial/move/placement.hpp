// SPDX-License-Identifier: Apache-2.0
/// Where ranks run, compared with where a topology says that they do.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fluvial/base/terms.hpp"
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

/// The host of each rank, as ranks compare them.
std::string hosts_in_words(const route::Topology& topology);

/// What ranks that use a topology must say alike of it: a file of the same name may be another one
/// on another host. `hosts` are hosts_in_words(); without a topology all say "none".
void say_topology(Terms& terms, const route::Topology& topology, std::string hosts);
void say_topology(Terms& terms, const route::Topology* topology);

/// What happens where ranks run on other hosts than the topology says: their data goes direct, or
/// all ranks throw InvalidArgument.
enum class Displaced { GoDirect, Throw };

/// Where ranks are not in place, of which `machines` has the names: throws, or returns a warning.
/// Nothing where all are. Local.
std::string check_in_place(std::span<const std::string> machines, const route::Topology& topology,
                           Displaced displaced);

/// The same; where one rank is to throw, all do. Collective, blocking: an allreduce, and where a
/// rank is not in place an allgather of the names.
std::string check_in_place(const mpi::Comm& comm, const route::Topology& topology,
                           Displaced displaced);

}  // namespace fluvial::move
