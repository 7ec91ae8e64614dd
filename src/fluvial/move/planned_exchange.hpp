// SPDX-License-Identifier: Apache-2.0
/// Moves the flows of a plan among the ranks of a job.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/terms.hpp"
#include "fluvial/move/multipath.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/route/plan.hpp"

namespace fluvial::move {

class WatchedTask;

/// What ranks compare of a topology and of a plan.
struct PlanWords {
    std::string hosts, plan;
};
PlanWords words_of(const route::Topology& topology, std::span<const route::Flow> flows,
                   const route::Plan& plan);

/// What ranks must say alike of what they leave to the model and what they do not.
void say_options(Terms& terms, const route::RankFlowOptions& options);

/// What one rank says of a planned exchange. The topology, the flows and the plan outlive it.
struct PlannedCall {
    const route::Topology* topology = nullptr;
    std::span<const route::Flow> flows = {};
    const route::Plan* plan = nullptr;
    std::vector<Outgoing> outgoing = {};
    route::RankFlowOptions options = {};
    ExchangeOptions how = {};
    Displaced displaced = Displaced::GoDirect;
    /// words_of() these, where they are known from an earlier call.
    const PlanWords* words = nullptr;
};

/// The ranks that agree on a planned exchange: all of a communicator, or those that are no helpers.
struct Agreeing {
    const mpi::Comm& comm;  ///< of these alone
    int rank, ranks;        ///< this rank's number, and how many there are with helpers
    std::span<const int> helpers = {};
    /// The name of each rank's machine, helpers included; none: to be found out.
    std::span<const std::string> machines = {};
};

struct AgreedFlows {
    PlannedCall call;
    std::vector<route::RankFlow> flows;
    std::string warning;  ///< as Exchanged::warning
};

/// The first part of exchange() below: what has to move among ranks. `prepare` returns what this
/// rank says; what it throws on one rank is thrown on all.
AgreedFlows agree_on_flows(const Agreeing& agreeing, const std::function<PlannedCall()>& prepare);

struct Exchanged {
    Moved moved;
    std::string warning;  ///< ranks run elsewhere, so flows went direct; the same on all
};

/// Moves the flows of `plan` between the first ranks on their hosts (route::first_ranks), with as
/// many paths and such windows as the model finds best for the bytes of each, unless `options` say
/// something else. `outgoing` of each flow: has an owner where this rank is its source, and nowhere
/// else. Only sources need to know how many bytes a flow has. Returns what has come of each flow
/// that ends here. Collective, blocking; beside the data an agreement on the plan, which
/// has the sizes of up to 8 flows; those of more are another allreduce of 8 bytes a flow. Where a
/// topology names its hosts, ranks compare these with the names of their machines; what happens
/// where one is displaced is what the strictest rank says. Throws as move::exchange and
/// route::rank_flows do; InvalidArgument on all ranks where their networks, plans or options
/// differ; before anything moves PeerLost and PeerStalled where a rank has died on its host, or is
/// stopped for longer than the time-out of `how`, 2 s at least. The first call on `comm` makes what
/// watches the ranks (rank_watch.hpp), which goes with it.
Exchanged exchange(const mpi::Comm& comm, const route::Topology& topology,
                   std::span<const route::Flow> flows, const route::Plan& plan,
                   std::span<const Outgoing> outgoing, const route::RankFlowOptions& options = {},
                   const ExchangeOptions& how = {}, Displaced displaced = Displaced::GoDirect);

/// The same, of what `prepare` returns, whose errors on one rank are thrown on all, over a
/// communicator that is used again: windows travel over a duplicate, so no message is left in it
/// when this returns. It is lost (mpi/kept_duplicate.hpp) where this throws anything
/// but InvalidArgument before windows are on their way. In `task` ranks are watched while they
/// agree; then paths have limits of their own, and do without a proxy that stands still.
Exchanged exchange_over_kept(mpi::Comm& kept, const std::function<PlannedCall()>& prepare,
                             const WatchedTask& task);

}  // namespace fluvial::move
