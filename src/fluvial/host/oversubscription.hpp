// SPDX-License-Identifier: Apache-2.0
/// How many ranks share a core: ranks that wait must leave it to ranks that have work.
#pragma once

#include <span>
#include <vector>

#include <sched.h>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::host {

/// For each of some ranks how many of them there are to each core that it may run on, itself
/// included, given the cores of all. Ranks that may run on several count in part on each. Pure.
std::vector<double> ranks_per_core(std::span<const cpu_set_t> cores);

/// The same of all ranks of `host`, as they are bound now; by the number of cores that are online
/// where the kernel does not say. Collective, one allgather.
std::vector<double> ranks_per_core(const mpi::Comm& host);

}  // namespace fluvial::host
