// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/members.hpp"

#include <algorithm>
#include <cmath>

#include "fluvial/base/clock.hpp"
#include "fluvial/host/oversubscription.hpp"
#include "fluvial/mpi/agree.hpp"

namespace fluvial::flow {

namespace {

constexpr std::int64_t look_every_ns = 250'000'000;

}  // namespace

Members::Members(const mpi::Comm& comm, double stall_timeout_s)
    : own_rank_(comm.rank()), stall_timeout_s_(stall_timeout_s), looked_ns_(now_ns()) {
    mpi::Comm host = comm.split_by_host(mpi::Comm::Split::OnThread);
    Seat mine{static_cast<int>(host.min(own_rank_)), host::own_process(), {}};
    ranks_per_core_ = host::ranks_per_core(host)[static_cast<std::size_t>(host.rank())];
    host.close();
    if (!std::isinf(stall_timeout_s)) {
        mine.beats = progress::own_beats_place();
    }
    seats_ = comm.allgather_values(mine);
    for (int rank = 0; rank < size(); ++rank) {
        if (rank != own_rank_ && host_of(rank) == mine.host && !is_dead(rank)) {
            watched_.push_back(rank);
        }
    }
    mpi::agree(comm,
               [&] { heartbeats_ = progress::Heartbeats::begin(neighbours(), stall_timeout_s); });
}

std::vector<progress::Heartbeats::Neighbour> Members::neighbours() const {
    std::vector<progress::Heartbeats::Neighbour> found;
    for (const int rank : watched_) {
        found.push_back({rank, seats_[static_cast<std::size_t>(rank)].beats});
    }
    return found;
}

bool Members::is_dead(int rank) const {
    return host_of(rank) == host_of(own_rank_) &&
           !host::is_alive(seats_[static_cast<std::size_t>(rank)].process);
}

TaskFailure Members::lose(int rank, const char* kind, std::string message) {
    std::erase(watched_, rank);
    heartbeats_ = progress::Heartbeats::begin(neighbours(), stall_timeout_s_);
    return {kind, std::move(message), rank, {}};
}

std::optional<TaskFailure> Members::look() {
    if (now_ns() - looked_ns_ < look_every_ns) {
        return std::nullopt;
    }
    for (const int rank : watched_) {
        if (is_dead(rank)) {
            return lose(rank, "PeerLost", "the process died");
        }
    }
    if (const auto silent = heartbeats_ ? heartbeats_->look() : std::nullopt) {
        const host::Process& process = seats_[static_cast<std::size_t>(silent->member)].process;
        return lose(silent->member, "PeerStalled",
                    describe_problem(
                        {text("process ", process.id,
                              is_stopped(process) ? " was stopped by a signal" : " does not run"),
                         text("no heartbeat for ", silent->silent_s, " s"),
                         text("up to stall_timeout=", stall_timeout_s_, " s"),
                         "A larger stall_timeout of the pool waits longer"}));
    }
    looked_ns_ = now_ns();
    return std::nullopt;
}

}  // namespace fluvial::flow
