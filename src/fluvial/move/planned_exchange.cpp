// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/planned_exchange.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/kept_duplicate.hpp"

namespace fluvial::move {
namespace {

void check(std::span<const std::pair<int, int>> ends, std::span<const Outgoing> outgoing,
           int rank) {
    if (outgoing.size() != ends.size()) {
        throw InvalidArgument(Problem{"not every flow has an entry for its bytes",
                                      text(outgoing.size()), text(ends.size()), ""});
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const int from = ends[i].first;
        const bool given = outgoing[i].owner != nullptr, source = from == rank;
        if (source != given) {
            throw InvalidArgument(
                Problem{text("data of flow ", i, source ? " is missing" : " is not this rank's"),
                        source ? "nothing" : text(outgoing[i].bytes.size(), " bytes"),
                        text("data where the flow begins, on rank ", from), ""});
        }
    }
}

}  // namespace

PlanWords words_of(const route::Topology& topology, std::span<const route::Flow> flows,
                   const route::Plan& plan) {
    PlanWords words{hosts_in_words(topology), {}};
    for (std::size_t i = 0; i < flows.size(); ++i) {
        words.plan += text(flows[i].from, ">", flows[i].to, ":", exact(flows[i].bytes));
        for (const route::Path& path : plan.paths[i]) {
            words.plan += " by";
            for (const route::Node stop : path.stops) {
                words.plan += text(" ", stop);
            }
            words.plan += text("/", exact(path.share));
        }
        words.plan += "; ";
    }
    return words;
}

void say_options(Terms& terms, const route::RankFlowOptions& options) {
    terms.add("the number of paths", exact(static_cast<Index>(options.paths)));
    terms.add("the window", exact(static_cast<Index>(options.window_bytes)));
    const auto& [send_s, window_s, path_s] = options.costs;
    terms.add("the costs", exact(std::array{send_s, window_s, path_s}));
}

AgreedFlows agree_on_flows(const Agreeing& agreeing, const std::function<PlannedCall()>& prepare) {
    constexpr std::size_t few = 8;  // flows whose sizes go along with the agreement
    const mpi::Comm& comm = agreeing.comm;
    AgreedFlows agreed;
    PlannedCall& call = agreed.call;
    std::vector<std::size_t> bytes;
    constexpr std::size_t in_place = few, lenient = few + 1;
    std::vector<Index> least(few + 2, 0);
    const auto validate = [&] {
        call = prepare();
        call.options.helpers.assign(agreeing.helpers.begin(), agreeing.helpers.end());
        bytes.assign(call.flows.size(), 0);
        check(ends_of_flows(*call.topology, call.flows, agreeing.ranks, call.options.helpers),
              call.outgoing, agreeing.rank);
    };
    const bool known = !agreeing.machines.empty();
    const auto size_of_flow = [&](std::size_t i) {
        return -static_cast<Index>(call.outgoing[i].bytes.size());
    };
    mpi::agree_on(
        comm, validate,
        [&](Terms& terms) {
            PlanWords words = call.words != nullptr
                                  ? *call.words
                                  : words_of(*call.topology, call.flows, *call.plan);
            say_topology(terms, *call.topology, std::move(words.hosts));
            terms.add("the plan", std::move(words.plan));
            say_options(terms, call.options);
            terms.add("the checksum", call.how.checksum ? "yes" : "no");
            for (std::size_t i = 0; i < std::min(few, call.flows.size()); ++i) {
                least[i] = size_of_flow(i);
            }
            least[in_place] = known || is_in_place(agreeing.rank, *call.topology) ? 1 : 0;
            least[lenient] = call.displaced == Displaced::Throw ? 0 : 1;
        },
        least);
    const bool all_in_place = least[in_place] == 1;
    call.displaced = least[lenient] == 0 ? Displaced::Throw : Displaced::GoDirect;
    if (call.flows.size() > few) {
        least.clear();
        for (std::size_t i = 0; i < call.flows.size(); ++i) {
            least.push_back(size_of_flow(i));
        }
        least = comm.min_of_each(std::move(least));
    }
    for (std::size_t i = 0; i < call.flows.size(); ++i) {
        bytes[i] = static_cast<std::size_t>(-least[i]);
    }
    if (known || !all_in_place) {
        const auto hosts = known ? std::vector(agreeing.machines.begin(), agreeing.machines.end())
                                 : host_of_each_rank(comm);
        mpi::throw_alike(
            comm, [&] { agreed.warning = check_in_place(hosts, *call.topology, call.displaced); });
    }
    if (agreed.warning.empty()) {
        agreed.flows =
            rank_flows(*call.topology, call.flows, *call.plan, bytes, agreeing.ranks, call.options);
    } else {
        const route::Plan direct = plan_direct(*call.topology, call.flows);
        const route::RankFlowOptions alone{.helpers = call.options.helpers};
        agreed.flows = rank_flows(*call.topology, call.flows, direct, bytes, agreeing.ranks, alone);
    }
    return agreed;
}

Exchanged exchange_over_kept(mpi::Comm& kept, const std::function<PlannedCall()>& prepare,
                             const WatchedTask& task) {
    std::optional<mpi::Comm> own;
    try {
        AgreedFlows agreed = task.watching(
            [&] { return agree_on_flows({kept, kept.rank(), kept.size()}, prepare); });
        const bool messages_alone =
            !agreed.call.how.checksum &&
            std::all_of(agreed.flows.begin(), agreed.flows.end(),
                        [](const route::RankFlow& flow) { return flow.direct(); });
        // Watched as well: others may have given up while this rank was stopped, though their
        // agreement had reached it, and then come to none of this.
        std::optional<PreparedExchange> prepared;
        task.watching([&] {
            if (!messages_alone && !kept.serial()) {
                own.emplace(mpi::Comm::duplicate(kept.handle()));
            }
            prepared.emplace(own ? *own : kept, agreed.flows, std::move(agreed.call.outgoing),
                             std::move(agreed.call.how), PreparedExchange::Agreed::Already);
        });
        Exchanged exchanged{prepared->run(), std::move(agreed.warning)};
        if (own && exchanged.moved.leaves_messages) {
            own->abandon();
        } else if (own) {
            own->close();
        }
        return exchanged;
    } catch (const InvalidArgument&) {
        if (task.ended()) {
            mpi::lose(kept);
        }
        throw;  // or the same on all ranks, and before anything moved
    } catch (...) {
        if (own) {
            own->abandon();
        } else {
            mpi::lose(kept);
        }
        throw;
    }
}

Exchanged exchange(const mpi::Comm& comm, const route::Topology& topology,
                   std::span<const route::Flow> flows, const route::Plan& plan,
                   std::span<const Outgoing> outgoing, const route::RankFlowOptions& options,
                   const ExchangeOptions& how, Displaced displaced) {
    const auto prepare = [&] {
        return PlannedCall{&topology, flows, &plan,    {outgoing.begin(), outgoing.end()},
                           options,   how,   displaced};
    };
    const WatchedTask task(RankWatch::of(comm), RankWatch::kept_limit(how.stall_timeout_s),
                           "the exchange");
    return task.telling([&] {
        AgreedFlows agreed;
        std::optional<PreparedExchange> prepared;
        task.watching([&] {
            agreed = agree_on_flows({comm, comm.rank(), comm.size()}, prepare);
            prepared.emplace(comm, agreed.flows, std::move(agreed.call.outgoing),
                             std::move(agreed.call.how), PreparedExchange::Agreed::Already);
        });
        return Exchanged{prepared->run(), std::move(agreed.warning)};
    });
}

}  // namespace fluvial::move
