// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/planned_exchange.hpp"

#include <string>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::move {
namespace {

std::string words_of(std::span<const route::Flow> flows, const route::Plan& plan) {
    std::string words;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        words += text(flows[i].from, ">", flows[i].to);
        for (const route::Path& path : plan.paths[i]) {
            words += " by";
            for (const route::Node stop : path.stops) {
                words += text(" ", stop);
            }
        }
        words += "; ";
    }
    return words;
}

std::string words_of(const std::vector<route::Node>& hosts) {
    std::string words;
    for (const route::Node host : hosts) {
        words += text(host, " ");
    }
    return words;
}

void check(std::span<const route::RankFlow> flows, std::span<const Outgoing> outgoing, int rank) {
    if (outgoing.size() != flows.size()) {
        throw InvalidArgument(Problem{"not every flow has an entry for its bytes",
                                      text(outgoing.size()), text(flows.size()), ""});
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
        const bool given = outgoing[i].owner != nullptr, source = flows[i].from == rank;
        if (source != given) {
            throw InvalidArgument(
                Problem{text("data of flow ", i, source ? " is missing" : " is not this rank's"),
                        source ? "nothing" : text(outgoing[i].bytes.size(), " bytes"),
                        text("data where the flow begins, on rank ", flows[i].from), ""});
        }
    }
}

}  // namespace

Exchanged exchange(const mpi::Comm& comm, const route::Topology& topology,
                   std::span<const route::Flow> flows, const route::Plan& plan,
                   std::span<const Outgoing> outgoing, const route::RankFlowOptions& options,
                   const ExchangeOptions& how, Displaced displaced) {
    std::vector<std::size_t> bytes(flows.size(), 0);
    const auto validate = [&] {
        check(rank_flows(topology, flows, plan, bytes, comm.size(), options), outgoing,
              comm.rank());
    };
    mpi::agree_on(comm, validate, [&](Terms& terms) {
        terms.add("the topology", topology.describe());
        terms.add("the hosts of the ranks", words_of(topology.host_of_rank()));
        terms.add("the plan", words_of(flows, plan));
        terms.add("the number of paths", exact(static_cast<Index>(options.paths)));
        terms.add("the window", exact(static_cast<Index>(options.window_bytes)));
    });
    std::vector<Index> sizes;
    for (const Outgoing& one : outgoing) {
        sizes.push_back(-static_cast<Index>(one.bytes.size()));
    }
    sizes.push_back(is_in_place(comm.rank(), topology) ? 1 : 0);
    sizes = comm.min_of_each(std::move(sizes));
    for (std::size_t i = 0; i < flows.size(); ++i) {
        bytes[i] = static_cast<std::size_t>(-sizes[i]);
    }
    if (sizes.back() == 1) {
        const auto moved = rank_flows(topology, flows, plan, bytes, comm.size(), options);
        return {exchange(comm, moved, outgoing, how), ""};
    }
    const std::string warning = say_displaced(comm, topology, displaced);
    const route::Plan direct = plan_direct(topology, flows);
    const auto moved = rank_flows(topology, flows, direct, bytes, comm.size());
    return {exchange(comm, moved, outgoing, how), warning};
}

}  // namespace fluvial::move
