// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/writer.hpp"

#include <algorithm>
#include <iostream>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"
#include "fluvial/stage/writer_state.hpp"

namespace fluvial::stage {

void Writer::State::check_failure() const {
    const Failure& failure = control->header().failure;
    if (failure.set != 0) {
        throw_error(failure.kind, failure.message);
    }
}

void Writer::State::depart() {
    published.reset();
    remote.reset();
    service.reset();
    step_event.reset();
    heartbeat.reset();
    records.reset();
    alive.reset();
    staged.clear();
    opened.reset();
    arena.reset();
    control.reset();
    log.reset();
    retaining = {};
}

std::string Writer::State::drain(double timeout_s) {
    published.reset();  // no further readers
    if (!remote || !remote->serves()) {
        return {};
    }
    const Deadline deadline(timeout_s);
    const auto nobody_waits = [&] { return remote->waits_for().empty() || deadline.passed(); };
    wait_until(nobody_waits, "readers on other hosts did not get their steps");
    return remote->waits_for();
}

void Writer::State::collect() {
    std::erase_if(staged, [this](const StagedStep& s) {
        const Slot& slot = control->slots()[s.slot];
        const bool in_memory = slot.step.load(std::memory_order_acquire) == s.step &&
                               slot.state.load(std::memory_order_acquire) != SlotState::Free;
        if (!in_memory) {
            for (const std::uint64_t block : s.blocks) {
                arena->free(block);
            }
        }
        return !in_memory;
    });
}

Writer::Writer(const std::string& name, const mpi::Comm& comm, const WriterOptions& options)
    : state_(open_writer(name, comm, options)) {}

Writer::Writer(Writer&&) noexcept = default;

Writer::~Writer() {
    if (state_ && !state_->handle.inherited() && !state_->closed) {
        try {
            abort("the writer was given up without close()");
        } catch (const std::exception& error) {
            std::cerr << "fluvial: a stream could not be ended: " << error.what() << '\n';
        }
    }
}

void Writer::set_attributes(const Attributes& attributes) {
    const HandleLock::Call call(state_->handle, "attributes cannot be set");
    state_->records->define_series({attributes});
}

WriteStep Writer::begin_step(const Attributes& attributes) {
    State& w = *state_;
    HandleLock::Call call(w.handle, "a step cannot begin");
    if (w.step_open) {
        throw InvalidArgument(Problem{"a step cannot begin", "another step is open",
                                      "one step at a time", "End the step first"});
    }
    w.step_open = true;
    try {
        return WriteStep(w.begin_step(call, state_.shared(), attributes));
    } catch (...) {
        w.step_open = false;
        throw;
    }
}

std::shared_ptr<WriteStep::State> Writer::State::begin_step(HandleLock::Call& call,
                                                            const std::shared_ptr<State>& self,
                                                            const Attributes& attributes) {
    State& w = *this;
    w.give_up_step();
    w.collect();
    if (w.log) {
        w.free_disk(false);
    }
    const ControlBlock& control = *w.control;
    const auto admission = await(
        control, control.header().space_bell, w.options.step_timeout_s, w.wait_s,
        [&]() -> std::optional<Admission> {
            expect_all_writers(control, w.next_step);
            w.check_failure();
            const ControlHeader& header = control.header();
            w.arena->rotate(header.readers_high > header.remote_readers);
            return admit(control, w.next_step);
        },
        call);
    if (!admission) {
        const ControlLock lock(control);
        const std::string stalled = stalled_writer(control, w.options.stall_timeout_s);
        throw TimedOut(
            Problem{text("the queue of '", w.name,
                         "' stayed full for step_timeout=", w.options.step_timeout_s, " s"),
                    describe_holders(control) + (stalled.empty() ? "" : "; " + stalled), "",
                    "Speed the readers up, raise queue_steps or step_timeout, or choose "
                    "full='discard-oldest'"});
    }
    auto step = std::make_shared<WriteStep::State>();
    step->writer = self;
    step->arena = w.arena;
    step->step = w.next_step;
    step->slot = admission->slot;
    step->accepted = admission->accepted;
    step->spilled = admission->spilled;
    w.opened = step;
    w.step_thread = std::this_thread::get_id();
    w.records->begin(attributes);
    return step;
}

void Writer::State::check_step_over() const {
    if (step_open && step_thread == std::this_thread::get_id() && !handle.others_inside()) {
        throw InvalidArgument(Problem{"the stream cannot be closed", "a step is open",
                                      "no open step", "End it first"});
    }
}

void Writer::State::give_up_step() {
    if (const auto step = opened) {
        step->finish(true);
    }
}

void Writer::close() {
    State& w = *state_;
    if (w.handle.inherited()) {
        return;
    }
    HandleLock::Closing closing(w.handle, [&] { w.check_step_over(); }, [&] { w.wake(); });
    if (!closing.is_mine()) {
        return;
    }
    w.give_up_step();
    w.final_stats = w.stats();
    w.closed = true;
    closing.done();
    std::optional<std::pair<std::string, std::string>> failure;
    {
        const ControlLock lock(*w.control);
        close_writer(*w.control, w.rank);
        const ControlHeader& header = w.control->header();
        if (header.retains != 0 && header.failure.set == 0 &&
            header.writers_closed == header.writer_ranks &&
            !w.log->write_end(header.counters.entries_end, steps_of_all_writers(*w.control))) {
            failure.emplace("SystemError",
                            "the retained steps could not be marked as complete: the disk is full");
        }
        if (const Failure& f = w.control->header().failure; f.set != 0) {
            failure.emplace(f.kind, f.message);
        }
    }
    const std::string left_behind = w.drain(w.options.step_timeout_s);
    w.depart();
    if (failure) {
        throw_error(failure->first, failure->second);
    }
    if (!left_behind.empty()) {
        throw TimedOut(
            Problem{text("a reader on another host had not read all steps of '", w.name,
                         "' when this writer closed"),
                    left_behind, text("within step_timeout=", w.options.step_timeout_s, " s"),
                    "Its steps lie in the writer's memory, and are lost: raise step_timeout"});
    }
}

void Writer::abort(const std::string& why) {
    State& w = *state_;
    if (w.handle.inherited()) {
        return;
    }
    HandleLock::Closing closing(w.handle, [] {}, [&] { w.wake(); });
    if (!closing.is_mine()) {
        return;
    }
    w.final_stats = w.stats();
    w.closed = true;
    closing.done();
    {
        const ControlLock lock(*w.control);
        fail(*w.control, "PeerLost",
             text("rank ", w.rank, " of the writer of '", w.name, "' failed: ", why));
        w.control->writer(w.rank).state = MemberState::Left;
    }
    w.drain(std::min(w.options.stall_timeout_s, w.options.step_timeout_s));
    w.depart();
}

WriterStats Writer::stats() const {
    const auto turn = state_->handle.turn();
    return state_->closed ? state_->final_stats : state_->stats();
}

WriterStats Writer::State::stats() const {
    const State& w = *this;
    const ControlBlock& control = *w.control;
    const ControlLock lock(control);
    const Counters& counters = control.header().counters;
    const auto slots = control.slots();
    const auto waiting = std::count_if(slots.begin(), slots.end(), [](const Slot& slot) {
        return slot.state.load() == SlotState::Complete && slot.viewed_once == 0;
    });
    return {
        .steps_written = counters.steps_completed,
        .steps_discarded = counters.steps_discarded,
        .steps_unread = counters.steps_unread + static_cast<std::uint64_t>(waiting),
        .steps_spoiled = counters.steps_spoiled,
        .steps_spilled = counters.steps_spilled,
        .bytes_staged = counters.bytes_staged,
        .bytes_logged = counters.bytes_logged,
        .bytes_on_disk = counters.log_end - counters.log_freed,
        .full_disks = counters.full_disks,
        .bytes_copied = w.bytes_copied,
        .bytes_in_place = w.bytes_in_place,
        .bytes_in_use = bytes_in_use(control),
        .arena_bytes = w.arena->touched_bytes(),
        .queue_depth = queue_depth(control),
        .readers = active_groups(control),
        .readers_joined = counters.groups_joined,
        .readers_lost = counters.groups_lost,
        .readers_evicted = counters.groups_evicted,
        .wait_s = w.wait_s,
        .copy_s = w.copy_s,
    };
}

bool Writer::disk_was_full() const {
    if (state_->handle.inherited()) {
        return false;
    }
    const auto turn = state_->handle.turn();
    return (state_->closed ? state_->final_stats.full_disks
                           : state_->control->header().counters.full_disks.load()) != 0;
}

std::string Writer::contact() const {
    return state_->contact;
}

std::string Writer::contact_path() const {
    return state_->path;
}

}  // namespace fluvial::stage
