// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/placement.hpp"

#include <span>
#include <utility>

#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

std::string own_host() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

bool is_in_place(int rank, const std::string& host, const route::Topology& topology) {
    const auto& host_of = topology.host_of_rank();
    const auto at = static_cast<std::size_t>(rank);
    return !topology.named() || at >= host_of.size() || topology.is_called(host_of[at], host);
}

/// Which ranks are not in place, for a message; nothing where all are.
std::string displaced_ranks(std::span<const std::string> hosts, const route::Topology& topology) {
    std::string first;
    std::size_t displaced = 0;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        if (!is_in_place(static_cast<int>(rank), hosts[rank], topology) && displaced++ == 0) {
            const std::string meant = topology.name_of(topology.host_of_rank()[rank]);
            first = text("rank ", rank, " on '", hosts[rank], "' and not on '", meant, "'");
        }
    }
    return displaced < 2 ? first : text(first, ", and ", displaced - 1, " more");
}

}  // namespace

std::vector<std::string> host_of_each_rank(const mpi::Comm& comm) {
    const std::string own = own_host();
    std::vector<std::string> all;
    for (const auto& bytes : comm.allgather(std::as_bytes(std::span(own)))) {
        all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return all;
}

route::TopologyPtr placed(const mpi::Comm& comm, const route::Topology& topology) {
    return topology.placed(host_of_each_rank(comm));
}

bool is_in_place(int rank, const route::Topology& topology) {
    return is_in_place(rank, own_host(), topology);
}

std::string hosts_in_words(const route::Topology& topology) {
    std::string words;
    for (const route::Node host : topology.host_of_rank()) {
        words += text(host, " ");
    }
    return words;
}

void say_topology(Terms& terms, const route::Topology& topology, std::string hosts) {
    terms.add("the topology", topology.describe());
    terms.add("the links of the topology", text("fingerprint ", topology.fingerprint()),
              "Give every rank the same file");
    terms.add("the hosts of the ranks", std::move(hosts));
}

void say_topology(Terms& terms, const route::Topology* topology) {
    if (topology != nullptr) {
        say_topology(terms, *topology, hosts_in_words(*topology));
    } else {
        terms.add("the topology", "none");
    }
}

std::string check_in_place(std::span<const std::string> machines, const route::Topology& topology,
                           Displaced displaced) {
    const std::string ranks = displaced_ranks(machines, topology);
    if (ranks.empty()) {
        return "";
    }
    const Problem problem{
        "ranks run on other hosts than the topology " + topology.describe() + " says", ranks, "",
        "Take a topology that is placed on the job, or list other \"ranks\""};
    if (displaced == Displaced::Throw) {
        throw InvalidArgument(problem);
    }
    return "flows go direct: " + describe_problem(problem);
}

std::string check_in_place(const mpi::Comm& comm, const route::Topology& topology,
                           Displaced displaced) {
    const auto least = comm.min_of_each(
        {is_in_place(comm.rank(), topology) ? 1 : 0, displaced == Displaced::Throw ? 0 : 1});
    if (least[0] == 1) {
        return "";
    }
    return check_in_place(host_of_each_rank(comm), topology,
                          least[1] == 0 ? Displaced::Throw : Displaced::GoDirect);
}

}  // namespace fluvial::move
