// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/reader.hpp"

#include <iostream>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/reader_state.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {
namespace {

constexpr int end_of_stream = -2;

/// Why there will be no further step, thrown as the error that it is; or end_of_stream. None: keep
/// waiting.
std::optional<int> reason_to_stop(const Reader::State& r) {
    const ControlBlock& control = r.seat->control;
    const ControlHeader& header = control.header();
    const GroupCell& group = control.group(static_cast<int>(control.reader(r.seat->cell).group));
    // An active group has been given every step that is left for it (take came first): the highest
    // complete ones may have been discarded. One that a rank has left is at the end only if it has
    // seen them all.
    const bool at_end =
        group.state == GroupState::Active ||
        (group.state == GroupState::Leaving && group.next_step >= header.counters.complete_end);
    if (at_end && header.failure.set == 0 && header.writers_closed == header.writer_ranks) {
        return end_of_stream;
    }
    if (group.state == GroupState::Evicted) {
        throw PeerStalled(
            Problem{text("this reader lost its place in '", r.name, "'"), group.departed, "",
                    "Attach again to go on with later steps; what was read stays valid"});
    }
    const std::string stalled =
        header.failure.set != 0 ? "" : stalled_writer(control, r.options.stall_timeout_s);
    if (!stalled.empty()) {
        reap(control);  // what looks stopped may be dead, and nobody may have noticed yet
    }
    if (header.failure.set != 0) {
        throw_error(header.failure.kind,
                    text(header.failure.message, "; all ", header.counters.steps_completed,
                         " complete steps were available before"));
    }
    // After the failure: it may be why the other rank has left.
    if (group.state != GroupState::Active) {
        throw PeerLost(
            Problem{text("this reader cannot go on with '", r.name, "'"), group.departed, "",
                    "All ranks of a reader take the same steps; restart the reading job"});
    }
    if (!stalled.empty()) {
        throw PeerStalled(Problem{stalled, "", "",
                                  text("It is stopped or its host is overloaded (stall_timeout=",
                                       r.options.stall_timeout_s, " s); try again once it runs")});
    }
    return std::nullopt;
}

std::uint64_t lag_of(const Reader::State& r) {
    std::uint64_t lag = 0;
    for (const Slot& slot : r.seat->control.slots()) {
        lag += slot.state.load() == SlotState::Complete && slot.step.load() >= r.next_index ? 1 : 0;
    }
    return lag;
}

}  // namespace

std::uint64_t ReadStep::index() const {
    return source_->index;
}

const Attributes& ReadStep::attributes() const {
    return source_->record.attributes;
}

std::uint64_t ReadStep::skipped() const {
    return source_->skipped;
}

std::vector<std::string> ReadStep::names() const {
    std::vector<std::string> names;
    for (const auto& [name, dataset] : source_->record.datasets) {
        names.push_back(name);
    }
    return names;
}

bool ReadStep::has(const std::string& name) const {
    return source_->record.datasets.count(name) != 0;
}

StagedDataset ReadStep::dataset(const std::string& name) const {
    const auto found = source_->record.datasets.find(name);
    if (found == source_->record.datasets.end()) {
        std::string allowed;
        for (const auto& other : names()) {
            allowed += (allowed.empty() ? "" : ", ") + other;
        }
        throw UnknownName(Problem{text("step ", index(), " has no such dataset"), "'" + name + "'",
                                  allowed, did_you_mean(name, names())});
    }
    return {name, found->second, source_};
}

std::shared_ptr<Lease> StagedDataset::Source::lease(const std::string& name) const {
    made_.check("a step that was read");
    const std::lock_guard lock(mutex_);
    if (!lease_) {
        throw InvalidArgument(Problem{
            text("'", name, "' cannot be read any more"), text("step ", index, " has ended"),
            "a step that is open", "Read before the next step begins; what was read stays valid"});
    }
    return lease_;
}

void StagedDataset::Source::finish() {
    if (made_.inherited()) {
        return;
    }
    const std::unique_lock lock(mutex_);
    if (lease_) {
        const Seat& seat = *lease_->seat;
        const ControlLock control_lock(seat.control);
        finish_reading(seat.control, seat.cell, lease_->slot);
    } else {
        return;
    }
    // Not under the control lock, which the last lease takes when it ends.
    lease_.reset();
}

void ReadStep::finish() {
    source_->finish();
}

Reader::Reader(const std::string& name, const mpi::Comm& comm, const ReaderOptions& options)
    : state_(open_reader_state(name, comm, options)) {}

Reader::Reader(Reader&&) noexcept = default;

Reader::~Reader() {
    if (state_) {
        try {
            close();
        } catch (const std::exception& error) {
            std::cerr << "fluvial: a stream could not be left: " << error.what() << '\n';
        }
    }
}

std::optional<ReadStep> Reader::next() {
    State& r = *state_;
    HandleLock::Call call(r.handle, "there is no next step");
    if (r.in_next) {
        throw InvalidArgument(Problem{"there is no next step", "another thread waits for one",
                                      "one thread at a time in next()",
                                      "Let one thread call next() and hand the steps out"});
    }
    r.in_next = true;
    try {
        auto source = r.next(call);
        r.in_next = false;
        return source ? std::optional(ReadStep(std::move(source))) : std::nullopt;
    } catch (...) {
        r.in_next = false;
        throw;
    }
}

std::shared_ptr<StagedDataset::Source> Reader::State::next(HandleLock::Call& call) {
    State& r = *this;
    r.finish_current();
    const ControlBlock& control = r.seat->control;
    const std::int64_t begin_ns = now_ns();
    const auto slot = await(
        control, control.header().step_bell, Deadline(r.options.step_timeout_s),
        [&]() -> std::optional<int> {
            const int taken = take(control, r.seat->cell);
            return taken >= 0 ? std::optional(taken) : reason_to_stop(r);
        },
        call);
    r.wait_s += static_cast<double>(now_ns() - begin_ns) * 1e-9;
    if (!slot) {
        throw TimedOut(Problem{text("no step of '", r.name,
                                    "' came within step_timeout=", r.options.step_timeout_s, " s"),
                               "", "",
                               "The writer is alive but slow: raise step_timeout, or call again"});
    }
    if (*slot == end_of_stream) {
        return nullptr;
    }
    auto source = std::make_shared<StagedDataset::Source>();
    source->open(std::make_shared<Lease>(r.seat, *slot));
    source->counters = r.counters;
    source->index = control.slots()[*slot].step.load(std::memory_order_acquire);
    r.current = source;
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        r.records[static_cast<std::size_t>(rank)].read(
            control.record(*slot, rank),
            control.writer(rank).definitions.load(std::memory_order_acquire), source->record);
    }
    source->skipped = r.any_read ? source->index - r.next_index : 0;
    r.next_index = source->index + 1;
    r.any_read = true;
    return source;
}

void Reader::State::finish_current() {
    if (current) {
        current->finish();
        current.reset();
    }
}

Attributes Reader::attributes() const {
    const auto turn = state_->handle.turn();
    return state_->seat ? state_->attributes() : state_->final_attributes;
}

Attributes Reader::State::attributes() {
    Attributes all;
    for (int rank = 0; rank < seat->control.writer_ranks(); ++rank) {
        RecordReader& record = records[static_cast<std::size_t>(rank)];
        record.follow_definitions(
            seat->control.writer(rank).definitions.load(std::memory_order_acquire));
        Attributes more = record.series_attributes();
        all.merge(more);
    }
    return all;
}

void Reader::close() {
    State& r = *state_;
    if (r.handle.inherited()) {
        return;
    }
    HandleLock::Closing closing(
        r.handle, [] {}, [&] { r.seat->control.header().step_bell.ring(); });
    if (!closing.is_mine()) {
        return;
    }
    closing.done();
    r.finish_current();
    r.final_stats = r.stats();
    r.final_attributes = r.attributes();
    {
        const ControlLock lock(r.seat->control);
        leave(r.seat->control, r.seat->cell);
    }
    r.records.clear();
    r.seat.reset();
}

ReaderStats Reader::stats() const {
    const auto turn = state_->handle.turn();
    return state_->seat ? state_->stats() : state_->final_stats;
}

ReaderStats Reader::State::stats() const {
    const ControlBlock& control = seat->control;
    const ControlLock lock(control);
    const ReaderCell& cell = control.reader(seat->cell);
    return {
        .steps_read = cell.steps_taken,
        .steps_discarded = control.group(static_cast<int>(cell.group)).steps_discarded,
        .bytes_viewed = counters->bytes_viewed,
        .bytes_copied = counters->bytes_copied,
        .queue_depth = queue_depth(control),
        .lag_steps = lag_of(*this),
        .wait_s = wait_s,
        .copy_s = static_cast<double>(counters->copy_ns) * 1e-9,
    };
}

std::string Reader::host() const {
    return state_->host;
}

}  // namespace fluvial::stage
