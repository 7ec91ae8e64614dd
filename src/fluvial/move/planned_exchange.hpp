// SPDX-License-Identifier: Apache-2.0
/// Moves the flows of a plan among the ranks of a job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fluvial/move/multipath.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/route/plan.hpp"

namespace fluvial::move {

struct Exchanged {
    Moved moved;
    std::string warning;  ///< ranks run elsewhere, so flows went direct; the same on all
};

/// Moves the flows of `plan` between the first ranks on their hosts (route::first_ranks), with as
/// many paths and such windows as the model finds best for the bytes of each, unless `options` say
/// something else. `outgoing` of each flow: has an owner where this rank is its source, and nowhere
/// else. Only sources need to know how many bytes a flow has. Returns what has come of each flow
/// that ends here. Collective, blocking; beside the data an agreement on the plan, and one
/// allreduce of 8 bytes a flow. Where a topology names its hosts, ranks compare these with the
/// names of their machines. Throws as move::exchange and route::rank_flows do, and InvalidArgument
/// on all ranks where their plans differ.
Exchanged exchange(const mpi::Comm& comm, const route::Topology& topology,
                   std::span<const route::Flow> flows, const route::Plan& plan,
                   std::span<const Outgoing> outgoing, const route::RankFlowOptions& options = {},
                   const ExchangeOptions& how = {}, Displaced displaced = Displaced::GoDirect);

}  // namespace fluvial::move
