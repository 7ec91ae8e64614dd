// SPDX-License-Identifier: Apache-2.0
/// Which ranks write a shared file, where the network is known. Local, and the same on all ranks
/// that are given the same.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fluvial/move/write_plan.hpp"
#include "fluvial/route/topology.hpp"

namespace fluvial::move {

/// Of each equal part of the data, in the order of the file, the rank that writes it: `count` of
/// them (0: one for each host that has ranks), on as many hosts as there are. Of several choices
/// (for each part the host to which links are free; the hosts with most data; hosts spread evenly;
/// for each part a host that has most of it) and two ways to hand out the parts (in order; where
/// most of them lies already) it takes the one by which the busiest link has least to carry, and of
/// equal ones that by which least is moved. `extents` are sorted by offset. Throws InvalidArgument
/// where a rank is on no host.
std::vector<int> choose_aggregators(const route::Topology& topology,
                                    std::span<const Extent> extents, int ranks, std::size_t count);

}  // namespace fluvial::move
