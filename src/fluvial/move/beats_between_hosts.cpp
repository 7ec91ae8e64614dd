// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/beats_between_hosts.hpp"

#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::move {

namespace {

std::string from_environment(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

/// How a rank is reached, and a key that it has drawn.
struct Card {
    std::vector<Endpoint> reachable_at;
    SharedKey key{};

    Bytes written() const {
        ByteWriter out;
        out.put(key);
        out.put<std::uint64_t>(reachable_at.size());
        for (const Endpoint& endpoint : reachable_at) {
            out.put_string(endpoint.address);
            out.put(endpoint.port);
        }
        return out.take();
    }
    static Card read(std::span<const std::byte> bytes) {
        ByteReader in(bytes);
        Card card;
        card.key = in.get<SharedKey>();
        card.reachable_at.resize(in.get<std::uint64_t>());
        for (Endpoint& endpoint : card.reachable_at) {
            endpoint.address = in.get_string();
            endpoint.port = in.get<std::uint16_t>();
        }
        return card;
    }
};

}  // namespace

std::unique_ptr<DistantBeats> beats_between_hosts(const mpi::Comm& comm, double stall_timeout_s,
                                                  const std::function<bool(int)>& meets,
                                                  const std::function<bool(int)>& watches) {
    std::optional<BeatSocket> socket;
    Card mine;
    mpi::agree(comm, [&] {
        socket.emplace(from_environment("FLUVIAL_NETWORK", "auto"),
                       ports_of(from_environment("FLUVIAL_PORTS", "")));
        mine = {socket->reachable_at(), drawn_key()};
    });
    const std::vector<Bytes> cards = comm.allgather(mine.written());
    std::vector<DistantBeats::Other> others;
    for (int rank = 0; rank < comm.size(); ++rank) {
        if (rank == comm.rank() || !meets(rank)) {
            continue;
        }
        Card card = Card::read(cards[static_cast<std::size_t>(rank)]);
        if (!card.reachable_at.empty()) {
            others.push_back({rank, std::move(card.reachable_at), watches(rank)});
        }
    }
    if (others.empty() || socket->reachable_at().empty()) {
        return nullptr;
    }
    const SharedKey key = Card::read(cards.front()).key;
    return std::make_unique<DistantBeats>(std::move(*socket), key, comm.rank(), std::move(others),
                                          stall_timeout_s);
}

std::vector<int> watched_on_next_host(std::span<const int> hosts) {
    std::map<int, std::vector<int>> ranks_of;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        ranks_of[hosts[rank]].push_back(static_cast<int>(rank));
    }
    if (ranks_of.size() < 2) {
        return {};
    }
    std::vector<int> watched(hosts.size());
    for (auto host = ranks_of.begin(); host != ranks_of.end(); ++host) {
        const auto next = std::next(host) != ranks_of.end() ? std::next(host) : ranks_of.begin();
        for (std::size_t i = 0; i < host->second.size(); ++i) {
            watched[static_cast<std::size_t>(host->second[i])] =
                next->second[i % next->second.size()];
        }
    }
    return watched;
}

std::unique_ptr<DistantBeats> beats_to_next_host(const mpi::Comm& comm, std::span<const int> hosts,
                                                 double stall_timeout_s) {
    const std::vector<int> watched = watched_on_next_host(hosts);
    if (watched.empty()) {
        return nullptr;
    }
    const auto watches = [&](int rank) {
        return watched[static_cast<std::size_t>(comm.rank())] == rank;
    };
    const auto meets = [&](int rank) {
        return watches(rank) || watched[static_cast<std::size_t>(rank)] == comm.rank();
    };
    return beats_between_hosts(comm, stall_timeout_s, meets, watches);
}

}  // namespace fluvial::move
