// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/members.hpp"

#include <algorithm>
#include <cmath>

#include "fluvial/base/clock.hpp"
#include "fluvial/flow/roles.hpp"
#include "fluvial/host/oversubscription.hpp"
#include "fluvial/move/beats_between_hosts.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/silence.hpp"

namespace fluvial::flow {

namespace {

constexpr std::int64_t look_at_members_every_ns = 250'000'000;

}  // namespace

Members::Members(const mpi::Comm& comm, double stall_timeout_s)
    : own_rank_(comm.rank()), stall_timeout_s_(stall_timeout_s), looked_ns_(now_ns()) {
    mpi::Comm host = comm.split_by_host(mpi::Comm::Split::OnThread);
    Seat mine{static_cast<int>(host.min(own_rank_)), host::own_process(), {}};
    ranks_per_core_ = host::ranks_per_core(host)[static_cast<std::size_t>(host.rank())];
    begun_ = std::make_unique<BegunTasks>(host);
    host.close();
    if (!std::isinf(stall_timeout_s)) {
        mine.beats = progress::own_beats_place();
    }
    seats_ = comm.allgather_values(mine);
    for (int rank = 0; rank < size(); ++rank) {
        if (rank != own_rank_ && rank != lead_rank && host_of(rank) == mine.host &&
            !is_dead(rank)) {
            watched_.push_back(rank);
        }
    }
    mpi::agree(comm, [&] {
        heartbeats_ = progress::Heartbeats::begin(neighbours(), stall_timeout_s);
        if (own_rank_ != lead_rank && host_of(lead_rank) == mine.host) {
            const std::vector lead{
                progress::Heartbeats::Neighbour{lead_rank, seat_of(lead_rank).beats}};
            lead_heartbeats_ = progress::Heartbeats::begin(lead, stall_timeout_s);
        }
    });
}

void Members::watch_from_afar(const mpi::Comm& comm, const std::function<bool(int)>& alone) {
    const bool one_host = std::ranges::all_of(
        seats_, [&](const Seat& seat) { return seat.host == seats_.front().host; });
    if (one_host || std::isinf(stall_timeout_s_)) {
        return;
    }
    const auto meets = [&](int rank) {
        return host_of(rank) != host_of(own_rank_) && (own_rank_ == lead_rank || rank == lead_rank);
    };
    const auto watches = [&](int rank) { return rank == lead_rank || alone(rank); };
    distant_ = move::beats_between_hosts(comm, stall_timeout_s_, meets, watches);
}

std::vector<progress::Heartbeats::Neighbour> Members::neighbours() const {
    std::vector<progress::Heartbeats::Neighbour> found;
    for (const int rank : watched_) {
        found.push_back({rank, seat_of(rank).beats});
    }
    return found;
}

bool Members::is_dead(int rank) const {
    return host_of(rank) == host_of(own_rank_) && !host::is_alive(seat_of(rank).process);
}

void Members::stop_watching(int rank) {
    std::erase(watched_, rank);
    if (!watched_.empty()) {  // else it goes on beating for those that watch this rank
        heartbeats_ = progress::Heartbeats::begin(neighbours(), stall_timeout_s_);
    }
}

TaskFailure Members::silent_here(int rank, double silent_s) const {
    return {"PeerStalled",
            progress::silent_here({seat_of(rank).process, silent_s, stall_timeout_s_, "the pool"}),
            rank,
            {}};
}

TaskFailure Members::silent_afar(int rank, double silent_s) const {
    return {"PeerStalled",
            progress::silent_afar({seat_of(rank).process, silent_s, stall_timeout_s_, "the pool"}),
            rank,
            {}};
}

std::optional<TaskFailure> Members::look() {
    if (now_ns() - looked_ns_ < look_at_members_every_ns) {
        return std::nullopt;
    }
    for (const int rank : watched_) {
        if (is_dead(rank)) {
            const TaskFailure lost{"PeerLost", "the process died", rank, {}};
            stop_watching(rank);
            return lost;
        }
    }
    if (const auto silent = heartbeats_ && !watched_.empty() ? heartbeats_->look() : std::nullopt) {
        const TaskFailure lost = silent_here(silent->member, silent->silent_s);
        stop_watching(silent->member);
        return lost;
    }
    if (own_rank_ == lead_rank && distant_) {
        if (const auto silent = distant_->look()) {
            distant_->forget(silent->member);
            return silent_afar(silent->member, silent->silent_s);
        }
    }
    looked_ns_ = now_ns();
    return std::nullopt;
}

std::optional<TaskId> Members::last_begun(int rank) const {
    if (rank == own_rank_ || !is_dead(rank)) {
        return std::nullopt;
    }
    int place = 0;  // the ranks of a host are in the order of the pool's
    for (int other = 0; other < rank; ++other) {
        place += host_of(other) == host_of(rank) ? 1 : 0;
    }
    return begun_->last(place);
}

std::optional<TaskFailure> Members::lead_lost() {
    if (own_rank_ == lead_rank) {
        return std::nullopt;
    }
    if (is_dead(lead_rank)) {
        return TaskFailure{"PeerLost", "the process died", lead_rank, {}};
    }
    if (const auto silent = lead_heartbeats_ ? lead_heartbeats_->look() : std::nullopt) {
        return silent_here(lead_rank, silent->silent_s);
    }
    if (const auto silent = distant_ ? distant_->look() : std::nullopt) {
        return silent_afar(lead_rank, silent->silent_s);
    }
    return std::nullopt;
}

}  // namespace fluvial::flow
