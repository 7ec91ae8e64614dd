// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/neighbours.hpp"

#include <algorithm>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/hash.hpp"
#include "fluvial/host/file_place.hpp"
#include "fluvial/host/process.hpp"

namespace fluvial::stage {
namespace {

/// Ranks that see the same processes may look for each other's memory.
struct Whereabouts {
    std::uint64_t process_table = 0;
    std::uint64_t wants = 0;
    friend bool operator==(const Whereabouts&, const Whereabouts&) = default;
};

}  // namespace

std::shared_ptr<move::SharedClaims> share_with_neighbours(const mpi::Comm& comm, bool wants) {
    const std::string table = host::process_table();
    const Whereabouts mine{hash_of(std::as_bytes(std::span(table))),
                           wants && !table.empty() ? std::uint64_t{1} : 0};
    const auto all = comm.allgather_values(mine);
    std::vector<int> ranks;  // those that share with this one
    bool any_share = false;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const Whereabouts& one = all[static_cast<std::size_t>(rank)];
        any_share = any_share || (one.wants != 0 && std::count(all.begin(), all.end(), one) > 1);
        if (one == mine && one.wants != 0) {
            ranks.push_back(rank);
        }
    }
    if (!any_share) {
        return nullptr;
    }
    const auto mine_at = std::find(ranks.begin(), ranks.end(), comm.rank()) - ranks.begin();
    const int number = static_cast<int>(mine_at) % move::SharedClaims::ranks_max;
    const auto first = static_cast<std::size_t>(mine_at - number);
    host::MemoryFile file;
    host::FilePlace place;
    if (ranks.size() > 1 && number == 0) {
        try {
            file = move::SharedClaims::create();
            place = host::place_of(file);
        } catch (const Error&) {  // each rank reads for itself
            place = {};
        }
    }
    const auto places = comm.allgather_values(place);
    if (ranks.size() < 2 || places[static_cast<std::size_t>(ranks[first])].descriptor < 0) {
        return nullptr;
    }
    try {
        if (number != 0) {
            file = host::open_at(places[static_cast<std::size_t>(ranks[first])]);
        }
        return make_shared_where_made<move::SharedClaims>(std::move(file), number);
    } catch (const Error&) {
        return nullptr;
    }
}

}  // namespace fluvial::stage
