// SPDX-License-Identifier: Apache-2.0
// A writer's rank that stands by for the one which serves readers on other hosts, and takes these
// over when that dies. The stream has failed then; what it does for them is what readers on the
// writer's host have without it: they get all steps that are complete, and then the failure.
//
// What happens, by what this rank finds:
// - the rank that serves has died: this one takes the locks of its readers, which so go on to count
//   as alive;
// - GoesOn comes for such a place: a session; the reader gets what did not come, and what follows;
// - GoesOn comes while the rank that serves lives: nothing for a second, then Failed;
// - no GoesOn within `stall_timeout`: the readers that are left count as gone;
// - this rank ends before: none stands by any more.
#include <algorithm>
#include <utility>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/taken_over_steps.hpp"

namespace fluvial::stage {
namespace {

/// A reader may know of the death before this rank does.
constexpr std::int64_t server_may_die_ns = 1'000'000'000;

bool server_lives(const ControlBlock& control) {
    return host::AliveLock::held(control.file(), control.writer_lock(serving_rank));
}

/// The places of readers on other hosts.
std::vector<int> cells_elsewhere(const ControlBlock& control) {
    std::vector<int> cells;
    for (std::uint32_t i = 0; i < control.header().readers_high; ++i) {
        const ReaderCell& reader = control.reader(static_cast<int>(i));
        if (reader.state == MemberState::Active && reader.elsewhere != 0) {
            cells.push_back(static_cast<int>(i));
        }
    }
    return cells;
}

}  // namespace

void RemoteService::stand_by() {
    memory_.control->header().standby_port = listener_.port();
}

bool RemoteService::serves() const {
    return !standing_by_ || !server_lives(*memory_.control);
}

void RemoteService::look_after_server() {
    if (!standing_by_ || server_lives(*memory_.control)) {
        return;
    }
    const ControlBlock& control = *memory_.control;
    try {
        const ControlLock lock(control);
        const std::vector<int> cells = cells_elsewhere(control);
        const auto locked = [&](int cell) {
            return host::AliveLock::held(control.file(), control.reader_lock(cell));
        };
        if (std::ranges::any_of(cells, locked)) {  // it is still dying: one lock goes after another
            return;
        }
        reap(control);
        for (const int cell : cells) {
            ReaderCell& reader = control.reader(cell);
            try {
                awaited_.push_back(
                    {cell, host::AliveLock(control.file(), control.reader_lock(cell))});
                reader.beat_ns.store(now_ns(), std::memory_order_relaxed);
            } catch (const SystemError& error) {  // no descriptor is free
                lose_reader(control, cell, text("could not be taken over: ", error.what()));
            }
        }
        control.header().standby_port = 0;
    } catch (const PeerStalled&) {  // a process is stopped inside its critical section: later
        return;
    }
    awaited_until_ = Deadline(control.header().stall_timeout_s);
    standing_by_ = false;
}

bool RemoteService::waits_beside(Visitor& visitor) {
    if (now_ns() - visitor.came_ns < server_may_die_ns) {
        return false;
    }
    const ControlBlock& control = *memory_.control;
    visitor.connection.post(encode_failed(
        "PeerLost", text("rank ", control.job_rank(standby_rank),
                         " of the writer stands by for rank ", control.job_rank(serving_rank),
                         ", which lives: the connection to that has ended for another reason")));
    visitor.connection.flush();
    return true;
}

bool RemoteService::take_over(Visitor& visitor, const GoesOnMessage& message) {
    const ControlBlock& control = *memory_.control;
    const auto found = std::ranges::find_if(awaited_, [&](const Awaited& one) {
        return control.reader(one.cell).token == message.token;
    });
    if (found == awaited_.end()) {
        return false;
    }
    try {
        const TakenOverSteps steps = [&] {
            const ControlLock lock(control);
            return take_over_steps(control, found->cell, message);
        }();
        sessions_.emplace_back(std::move(visitor.connection), message, found->cell,
                               std::move(found->alive), memory_, steps);
    } catch (const PeerStalled&) {
        throw;
    } catch (const Error& error) {
        visitor.connection.post(encode_failed(error.kind(), error.what()));
        visitor.connection.flush();
        const ControlLock lock(control);
        found->alive = {};
        lose_reader(control, found->cell, error.what());
    }
    awaited_.erase(found);
    return true;
}

void RemoteService::give_up_awaited() {
    if (awaited_.empty() || !awaited_until_.passed()) {
        return;
    }
    const ControlLock lock(*memory_.control);
    for (Awaited& one : awaited_) {
        one.alive = {};
        lose_reader(*memory_.control, one.cell, "did not come back when its service had died");
    }
    awaited_.clear();
}

}  // namespace fluvial::stage
