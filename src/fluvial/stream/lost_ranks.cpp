// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/lost_ranks.hpp"

#include <cmath>

#include "fluvial/move/beats_between_hosts.hpp"
#include "fluvial/progress/silence.hpp"

namespace fluvial::stream {

void LostRanks::watch_host(const std::vector<Member>& members, int rank,
                           const ChannelOptions& options) {
    members_ = &members;
    dead_after_s_ = options.dead_after_s;
    stall_timeout_s_ = options.stall_timeout_s;
    const int host = members[static_cast<std::size_t>(rank)].host;
    std::vector<progress::Heartbeats::Neighbour> neighbours;
    for (int other = 0; other < static_cast<int>(members.size()); ++other) {
        const Member& member = members[static_cast<std::size_t>(other)];
        if (other == rank || member.host != host) {
            continue;
        }
        neighbours.push_back({other, member.beats});
        if (is_alive(member.process)) {
            watched_.push_back(other);
        }
    }
    heartbeats_ = progress::Heartbeats::begin(neighbours, stall_timeout_s_);
}

void LostRanks::watch_next_host(const mpi::Comm& comm) {
    if (std::isinf(stall_timeout_s_)) {
        return;
    }
    std::vector<int> hosts;
    for (const Member& member : *members_) {
        hosts.push_back(member.host);
    }
    distant_beats_ = move::beats_to_next_host(comm, hosts, stall_timeout_s_);
}

void LostRanks::end() {
    heartbeats_.reset();
    distant_beats_.reset();
}

std::optional<mpi::Failure> LostRanks::look() {
    looked_ns_ = now_ns();
    std::optional<mpi::Failure> lost;
    if (static_cast<double>(looked_ns_ - looked_for_the_dead_ns_) * 1e-9 >= dead_after_s_ / 2) {
        looked_for_the_dead_ns_ = looked_ns_;
        lost = dead();
    }
    if (!lost) {
        lost = stalled();
    }
    return lost ? lost : distant();
}

std::optional<mpi::Failure> LostRanks::dead() const {
    for (const int other : watched_) {
        if (!is_alive((*members_)[static_cast<std::size_t>(other)].process)) {
            return mpi::Failure{"PeerLost", "the process died", other};
        }
    }
    return std::nullopt;
}

std::optional<mpi::Failure> LostRanks::stalled() {
    const auto silent = heartbeats_ ? heartbeats_->look() : std::nullopt;
    if (!silent) {
        return std::nullopt;
    }
    if (const auto lost = dead()) {
        return lost;  // dead ranks do not beat either
    }
    const host::Process& process = (*members_)[static_cast<std::size_t>(silent->member)].process;
    return mpi::Failure{
        "PeerStalled",
        progress::silent_here({process, silent->silent_s, stall_timeout_s_, "the channel"}),
        silent->member};
}

std::optional<mpi::Failure> LostRanks::distant() {
    const auto silent = distant_beats_ ? distant_beats_->look() : std::nullopt;
    if (!silent) {
        return std::nullopt;
    }
    const host::Process& process = (*members_)[static_cast<std::size_t>(silent->member)].process;
    return mpi::Failure{
        "PeerStalled",
        progress::silent_afar({process, silent->silent_s, stall_timeout_s_, "the channel"}),
        silent->member};
}

}  // namespace fluvial::stream
