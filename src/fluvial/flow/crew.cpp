// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/crew.hpp"

#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/failure.hpp"
#include "fluvial/mpi/waiting_message.hpp"

namespace fluvial::flow {

namespace {

TaskFailure failure_in_flight(int rank) {
    try {
        throw;
    } catch (const FunctionFailed& failed) {
        return {failed.kind(), failed.what(), rank, failed.details()};
    } catch (...) {
        const auto again = [thrown = std::current_exception()] { std::rethrow_exception(thrown); };
        const mpi::Failure failure = *mpi::failure_of(rank, again);
        return {failure.kind, failure.message, rank, {}};
    }
}

/// A message that was sent just before a task's end may come a little later.
constexpr std::int64_t look_for_ns = 1'000'000;
/// To receive a message that has begun to arrive.
constexpr double receive_s = 1;

std::optional<mpi::WaitingMessage> message_left_in(const mpi::Comm& team) {
    const std::int64_t end_ns = now_ns() + look_for_ns;
    auto left = mpi::waiting_message(team);
    while (!left && now_ns() < end_ns) {
        left = mpi::waiting_message(team);
    }
    return left;
}

/// Receives what a task has left on this rank, and throws. Of a communicator that earlier tasks
/// had, it may be theirs, and have come late.
void audit(const mpi::Comm& team, bool was_used) {
    const auto left = message_left_in(team);
    if (!left) {
        return;
    }
    for (auto one = left; one; one = mpi::waiting_message(team)) {
        try {
            team.recv(one->source, one->tag, Deadline(receive_s));
        } catch (const TimedOut&) {
            break;  // the rank that has sent it is busy; the next task is told of it, too
        }
    }
    throw Error(
        Problem{was_used ? "this task, or an earlier one of its team, has left a message in the "
                           "communicator of the team"
                         : "a task has left a message in the communicator of its team",
                text("one of rank ", left->source, " with tag ", left->tag), "none when it returns",
                "Receive all that is sent, or ask for a fresh communicator"});
}

/// A communicator for as long as this exists. Its end is collective, but waits for nobody. One with
/// a message in it, of a task that failed, or a part of what others have broken off, is left to
/// MPI_Finalize: MPI would give its number to a later one, which would take what is on its way.
struct Passing {
    explicit Passing(mpi::Comm made) : comm(std::move(made)) {}
    ~Passing() {
        try {
            if (!comm.serial() && (broken_off || mpi::waiting_message(comm))) {
                comm.abandon();
            }
            comm.close();
        } catch (...) {  // NOLINT(bugprone-empty-catch): the task has ended, one way or the other
        }
    }
    Passing(const Passing&) = delete;
    Passing& operator=(const Passing&) = delete;
    mpi::Comm comm;
    bool broken_off = false;
};

}  // namespace

void Crew::make(const Order& order) {
    made_.emplace(order.team, Made{order.ranks, teams_.make(order.ranks)});
}

void Crew::free(TeamNumber team) {
    const auto found = made_.find(team);
    found->second.comm.close();
    made_.erase(found);
}

Report Crew::run(const Order& order, const std::function<bool()>& cancelled,
                 std::atomic<bool>* signalled) {
    Report report;
    report.word = Word::Done;
    report.task = order.task;
    Made* const team = order.team == 0 ? nullptr : &made_.at(order.team);
    report.began_ns = now_ns();
    try {
        report.result = call(order, team, cancelled, signalled);
    } catch (Continuation& continuation) {
        report.result = std::move(continuation.message);
        report.continues = true;
    } catch (...) {
        report.failure = failure_in_flight(rank_);
    }
    report.took_s = static_cast<double>(now_ns() - report.began_ns) * 1e-9;
    return report;
}

/// Collective over the team where the task has a communicator of its own.
Bytes Crew::call(const Order& order, Made* team, const std::function<bool()>& cancelled,
                 std::atomic<bool>* signalled) {
    const bool shares = team != nullptr && !order.fresh;
    Passing own(team != nullptr && order.fresh ? mpi::Comm::duplicate(team->comm.handle())
                                               : mpi::Comm());
    const mpi::Comm& given = team == nullptr ? alone_ : shares ? team->comm : own.comm;
    const bool was_used = shares && std::exchange(team->used, true);
    Call call{order.task, given, {}};
    for (const Order::Input& input : order.inputs) {
        call.inputs.push_back(input.view());
    }
    Bytes result = [&] {
        const RunningTask running(cancelled, shares ? nullptr : &own.broken_off, signalled);
        try {
            return functions_.at(order.function).function(call);
        } catch (const Continuation&) {
            throw;
        } catch (...) {  // what others send to this rank may come when the communicator is gone
            own.broken_off = true;
            throw;
        }
    }();
    if (audits_ && !given.serial()) {
        audit(given, was_used);
    }
    return result;
}

void Crew::close() {
    for (auto& [number, made] : made_) {
        made.comm.close();
    }
    made_.clear();
    teams_.close();
}

void Crew::abandon() noexcept {
    for (auto& [number, made] : made_) {
        made.comm.abandon();
    }
    teams_.abandon();
}

}  // namespace fluvial::flow
