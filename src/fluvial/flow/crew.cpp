// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/crew.hpp"

#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/failure.hpp"

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

}  // namespace

void Crew::make(const Order& order) {
    made_.emplace(order.team, Made{order.ranks, teams_.make(order.ranks)});
}

void Crew::free(TeamNumber team) {
    const auto found = made_.find(team);
    found->second.comm.close();
    made_.erase(found);
}

Report Crew::run(const Order& order) const {
    Report report;
    report.word = Word::Done;
    report.task = order.task;
    const mpi::Comm& team = order.team == 0 ? alone_ : made_.at(order.team).comm;
    report.began_ns = now_ns();
    try {
        Call call{order.task, team, {}};
        for (const Order::Input& input : order.inputs) {
            call.inputs.push_back(input.view());
        }
        report.result = functions_.at(order.function).function(call);
    } catch (Continuation& continuation) {
        report.result = std::move(continuation.message);
        report.continues = true;
    } catch (...) {
        report.failure = failure_in_flight(rank_);
    }
    report.took_s = static_cast<double>(now_ns() - report.began_ns) * 1e-9;
    return report;
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
