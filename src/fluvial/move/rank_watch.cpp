// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rank_watch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/beats_between_hosts.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/kept_duplicate.hpp"
#include "fluvial/progress/silence.hpp"

namespace fluvial::move {

namespace {

constexpr int tag = 0;  // of notes
constexpr int tag_come = 1;
/// Looks at a note that is sent, which leaves at once but for a peer that MPI has not met before.
constexpr int looks_at_notes = 1000;
/// Tasks that are not the last one and may not have ended: a scan is waited for when it likes.
constexpr std::int64_t kept_tasks = 10'000;

std::shared_ptr<RankWatch> made(mpi::Comm comm) {
    return std::make_shared<RankWatch>(std::move(comm));
}

/// Those that a rank tells: whichever ranks are gone or do not listen, the others are connected.
std::vector<int> told_by(int rank, int ranks) {
    std::vector<int> found;
    for (int step = 1; step < ranks; step *= 2) {
        for (const int other : {(rank + step) % ranks, (rank + ranks - step) % ranks}) {
            if (other != rank && std::find(found.begin(), found.end(), other) == found.end()) {
                found.push_back(other);
            }
        }
    }
    return found;
}

}  // namespace

std::shared_ptr<RankWatch> RankWatch::of(const mpi::Comm& comm) {
    if (comm.size() == 1) {
        return nullptr;
    }
    return std::static_pointer_cast<RankWatch>(
        mpi::kept_with(comm.handle(), mpi::KeptKind::RankWatch,
                       [&] { return made(mpi::Comm::duplicate(comm.handle())); }));
}

std::shared_ptr<RankWatch> RankWatch::of(long handle) {
    auto watch = std::static_pointer_cast<RankWatch>(mpi::kept_with(
        handle, mpi::KeptKind::RankWatch, [&] { return made(mpi::Comm::from_fortran(handle)); }));
    return watch->comm_.size() > 1 ? watch : nullptr;
}

RankWatch::RankWatch(mpi::Comm comm) : comm_(std::move(comm)) {
    if (comm_.size() == 1) {
        return;
    }
    const progress::Setup setup;
    mpi::Comm here = comm_.split_by_host(mpi::Comm::Split::OnThread);
    const int rank = comm_.rank();
    const Seat mine{static_cast<int>(here.min(rank)), host::own_process(),
                    progress::own_beats_place()};
    here.close();
    seats_ = comm_.allgather_values(mine);
    std::vector<int> hosts;
    std::vector<progress::Heartbeats::Neighbour> neighbours;
    for (int other = 0; other < comm_.size(); ++other) {
        const Seat& seat = seats_[static_cast<std::size_t>(other)];
        hosts.push_back(seat.host);
        if (other == rank || seat.host != mine.host) {
            continue;
        }
        neighbours.push_back({other, seat.beats});
        if (is_alive(seat.process)) {  // else its process table is another one
            watched_.push_back(other);
        }
    }
    mpi::agree(comm_,
               [&] { heartbeats_ = progress::Heartbeats::begin(neighbours, stall_timeout_min_s); });
    distant_ = beats_to_next_host(comm_, hosts, stall_timeout_min_s);
}

RankWatch::~RankWatch() {
    for (mpi::Request& note : notes_) {
        note.abandon();
    }
}

void RankWatch::end(bool mpi_ends) noexcept {
    heartbeats_.reset();
    distant_.reset();
    for (mpi::Request& note : notes_) {
        note.abandon();
    }
    notes_.clear();
    mpi::end_with_user(comm_, mpi_ends);
}

const host::Process& RankWatch::process_of(int rank) const {
    return seats_[static_cast<std::size_t>(rank)].process;
}

mpi::Failure RankWatch::failure_of_current_exception(Number task) const {
    const auto known = told_.find(task);
    if (known != told_.end()) {
        return known->second;
    }
    const std::exception_ptr current = std::current_exception();
    return mpi::failure_of(comm_.rank(), [&] { std::rethrow_exception(current); })
        .value_or(mpi::Failure{"Error", "", comm_.rank()});
}

/// The others are told of it, unless they have agreed on it. An error of MPI is that of a rank that
/// has died, if one has.
void RankWatch::end_by_current_exception(Number task) {
    if (mpi::was_agreed(std::current_exception(), comm_.size())) {
        throw;
    }
    if (const auto dead = mpi::dead_behind_failure([this] { return dead_rank(); })) {
        told_.emplace(task, mpi::Failure{"PeerLost", "the process died", *dead});
        tell(task, told_.at(task));
        told_.at(task).raise(comm_.size());
    }
    tell(task, failure_of_current_exception(task));
    throw;
}

std::optional<int> RankWatch::dead_rank() const {
    const auto found = std::ranges::find_if_not(
        watched_, [this](int other) { return is_alive(process_of(other)); });
    return found == watched_.end() ? std::nullopt : std::optional(*found);
}

void RankWatch::tell(Number task, const mpi::Failure& failure) noexcept {
    try {
        ByteWriter out;
        out.put(task);
        const std::vector<std::byte> said = failure.to_bytes();
        out.put_block(said.data(), said.size());
        // Some of them may have failed by the same and look for no notes of this task any more.
        comm_.leave_messages();
        for (const int other : told_by(comm_.rank(), comm_.size())) {
            if (failure.kind == "PeerLost" && other == failure.rank) {
                continue;  // MPI may crash, or block, with a message to a process that is gone
            }
            const auto bytes = out.view();
            notes_.push_back(comm_.isend({bytes.begin(), bytes.end()}, other, tag));
        }
        for (int look = 0; look < looks_at_notes && !notes_.empty(); ++look) {
            std::erase_if(notes_, [](mpi::Request& note) { return note.test(); });
        }
    } catch (...) {  // the others may wait then, as without a watch; the error itself goes on
    }
}

void RankWatch::take_notes() {
    while (auto note = comm_.try_recv(tag)) {
        note->message.wait();
        const std::vector<std::byte> bytes = note->message.take();
        ByteReader in(bytes);
        const auto task = in.get<Number>();
        told_.emplace(task, mpi::Failure::from_bytes(in.get_block()));
    }
    told_.erase(told_.begin(), told_.lower_bound(begun_ - kept_tasks));
}

/// In each round to the rank that is so far up, from the one that is so far down: after the last
/// one this rank has heard of all, directly or not. Twice: that all have begun the task a rank may
/// also hear from those that have given it up since, but not that all know of all.
void RankWatch::come(Number task) {
    const int ranks = comm_.size();
    come_.erase(come_.begin(), come_.lower_bound({task, 0}));
    std::vector<int> steps;
    for (int step = 1; step < ranks; step *= 2) {
        steps.push_back(step);
    }
    for (int round = 0; round < 2 * static_cast<int>(steps.size()); ++round) {
        const int step = steps[static_cast<std::size_t>(round) % steps.size()];
        ByteWriter out;
        out.put(task);
        out.put(round);
        mpi::Request sent = comm_.isend(out.take(), (comm_.rank() + step) % ranks, tag_come);
        const int from = (comm_.rank() + ranks - step) % ranks;
        try {
            wait_until([&] { return has_come(task, round, from) && sent.test(); },
                       "MPI did not bring all ranks together");
        } catch (...) {
            sent.abandon();
            throw;
        }
    }
}

bool RankWatch::has_come(Number task, int round, int from) {
    while (!come_.contains({task, round})) {
        auto word = comm_.try_recv(from, tag_come);
        if (!word) {
            return false;
        }
        word->message.wait();
        const std::vector<std::byte> bytes = word->message.take();
        ByteReader in(bytes);
        const auto of = in.get<Number>();
        come_.emplace(of, in.get<int>());
    }
    return true;
}

void RankWatch::look(Number task, double stall_timeout_s, const char* of) {
    take_notes();
    const auto fail = [&](const mpi::Failure& failure) {
        told_.emplace(task, failure).first->second.raise(comm_.size());
    };
    if (const auto told = told_.find(task); told != told_.end()) {
        told->second.raise(comm_.size());
    }
    if (const auto dead = dead_rank()) {
        fail({"PeerLost", "the process died", *dead});
    }
    const auto is_stalled = [&](const auto& silent) {
        return silent && silent->silent_s > stall_timeout_s;
    };
    if (const auto silent = heartbeats_ ? heartbeats_->look() : std::nullopt; is_stalled(silent)) {
        const progress::Silence silence{process_of(silent->member), silent->silent_s,
                                        stall_timeout_s, of};
        fail({"PeerStalled", progress::silent_here(silence), silent->member});
    }
    if (const auto silent = distant_ ? distant_->look() : std::nullopt; is_stalled(silent)) {
        const progress::Silence silence{process_of(silent->member), silent->silent_s,
                                        stall_timeout_s, of};
        fail({"PeerStalled", progress::silent_afar(silence), silent->member});
    }
}

void RankWatch::check_stall_timeout(double stall_timeout_s) {
    if (!(stall_timeout_s >= stall_timeout_min_s)) {
        throw InvalidArgument(Problem{"stall_timeout is out of range", text(stall_timeout_s, " s"),
                                      text(stall_timeout_min_s, " s or more"),
                                      "Infinity lets stopped ranks be"});
    }
}

WatchedTask::WatchedTask(std::shared_ptr<RankWatch> watch, double stall_timeout_s, const char* of)
    : watch_(std::move(watch)), stall_timeout_s_(stall_timeout_s), of_(of) {
    if (!watch_) {
        return;
    }
    number_ = watch_->begin();
    telling([&] {
        RankWatch::check_stall_timeout(stall_timeout_s);
        watch_->take_notes();  // also of tasks without a wait
    });
}

void WatchedTask::come() const {
    if (!watch_) {
        return;
    }
    during([&] { watch_->come(number_); });
}

}  // namespace fluvial::move
