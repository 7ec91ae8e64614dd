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

/// There will be no further step; throws why, where that is an error.
bool at_end(const Reader::State& r) {
    const ControlBlock& control = r.seat->control;
    const ControlHeader& header = control.header();
    const GroupCell& group = control.group(static_cast<int>(control.reader(r.seat->cell).group));
    // An active group has been given every step that is left for it (take came first): the highest
    // complete ones may have been discarded. One that a rank has left is at the end only if it has
    // seen them all.
    const bool has_all =
        group.state == GroupState::Active ||
        (group.state == GroupState::Leaving &&
         (group.next_step >= header.counters.complete_end || header.steps_to != StepsTo::All));
    if (has_all && header.failure.set == 0 && header.writers_closed == header.writer_ranks) {
        return true;
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
    return false;
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

std::shared_ptr<const void> StagedDataset::Source::hold(const std::string& name) const {
    made_.check("a step that was read");
    const std::lock_guard lock(mutex_);
    if (!lease_ && !on_disk_) {
        throw InvalidArgument(Problem{
            text("'", name, "' cannot be read any more"), text("step ", index, " has ended"),
            "a step that is open", "Read before the next step begins; what was read stays valid"});
    }
    if (lease_) {
        return lease_;
    }
    return on_disk_;
}

/// Steps of a reader that has lost its place are given back to the disk, also while it reads them.
void StagedDataset::Source::check_not_evicted() const {
    const Seat& seat = lease_ ? *lease_->seat : *on_disk_;
    const ControlLock lock(seat.control);
    const GroupCell& group =
        seat.control.group(static_cast<int>(seat.control.reader(seat.cell).group));
    if (group.state == GroupState::Evicted) {
        throw PeerStalled(Problem{text("step ", index,
                                       " is not on the disk any more: this reader "
                                       "lost its place in the stream"),
                                  group.departed, "", "Attach again to go on with later steps"});
    }
}

const StepLog& StagedDataset::Source::log() const {
    const auto& steps = lease_ ? lease_->seat->log : on_disk_->log;
    if (!steps) {
        throw Error("a chunk is said to be on a disk, but the stream has no steps there");
    }
    return *steps;
}

StagedDataset::Source::Memory StagedDataset::Source::memory_of(
    const std::string& name, const Chunk& chunk, const std::shared_ptr<const void>& held) const {
    if (chunk.data != nullptr || chunk.region.empty()) {
        return {chunk.data, held};
    }
    const std::lock_guard lock(mutex_);
    auto& loaded = loaded_[chunk.logged.offset];
    if (!loaded) {
        if (!lease_ && !on_disk_) {
            throw InvalidArgument(Problem{text("'", name, "' cannot be read any more"),
                                          text("step ", index, " has ended"), "a step that is open",
                                          ""});
        }
        try {
            loaded = log().read(chunk.logged, text("a chunk of '", name, "' in step ", index));
        } catch (const DamagedFile&) {
            check_not_evicted();
            throw;
        }
        counters->bytes_from_disk += chunk.logged.bytes;
    }
    return {loaded.get(), loaded};
}

void StagedDataset::Source::finish(bool read) {
    if (made_.inherited()) {
        return;
    }
    const std::unique_lock lock(mutex_);
    if (lease_) {
        const Seat& seat = *lease_->seat;
        const ControlLock control_lock(seat.control);
        finish_reading(seat.control, seat.cell, lease_->slot);
    } else if (on_disk_) {
        const ControlLock control_lock(on_disk_->control);
        finish_logged(on_disk_->control, on_disk_->cell);
    } else {
        return;
    }
    // Not under the control lock, which the last lease takes when it ends.
    lease_.reset();
    on_disk_.reset();
    loaded_.clear();
    if (position && read) {
        position->advance(index + 1);
    }
    position.reset();
}

void ReadStep::finish() {
    source_->finish(true);
}

Reader::Reader(const std::string& name, const mpi::Comm& comm, const ReaderOptions& options)
    : state_(open_reader_state(name, comm, options)) {}

Reader::Reader(Reader&&) noexcept = default;

Reader::~Reader() {
    if (state_) {
        try {
            abort();
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
    r.finish_current(true);
    const ControlBlock& control = r.seat->control;
    const StepLog* const log = r.seat->log ? &*r.seat->log : nullptr;
    const std::int64_t begin_ns = now_ns();
    const auto taken = await(
        control, control.header().step_bell, Deadline(r.options.step_timeout_s),
        [&]() -> std::optional<Taken> {
            const Taken next = take(control, r.seat->cell, log);
            if (next.any()) {
                return next;
            }
            return next.others_lag || !at_end(r) ? std::nullopt : std::optional(Taken{});
        },
        call);
    r.wait_s += static_cast<double>(now_ns() - begin_ns) * 1e-9;
    if (!taken) {
        throw TimedOut(Problem{text("no step of '", r.name,
                                    "' came within step_timeout=", r.options.step_timeout_s, " s"),
                               "", "",
                               "The writer is alive but slow: raise step_timeout, or call again"});
    }
    if (!taken->any()) {
        return nullptr;
    }
    auto source = std::make_shared<StagedDataset::Source>();
    source->counters = r.counters;
    source->position = r.position;
    r.current = source;
    if (taken->logged) {
        source->open(r.seat);
        source->index = taken->logged->step;
        read_records(*taken->logged, source->record);
        ++r.counters->steps_from_disk;
    } else {
        source->open(std::make_shared<Lease>(r.seat, taken->slot));
        source->index = control.slots()[taken->slot].step.load(std::memory_order_acquire);
        read_records(taken->slot, source->record);
    }
    // Where steps are shared out, one of another job that died may come late.
    source->skipped = r.any_read && source->index > r.next_index ? source->index - r.next_index : 0;
    r.next_index = source->index + 1;
    r.any_read = true;
    return source;
}

void Reader::State::read_records(int slot, StepRecord& step) {
    const ControlBlock& control = seat->control;
    for (int rank = 0; rank < control.writer_ranks(); ++rank) {
        records[static_cast<std::size_t>(rank)].read(
            control.record(slot, rank),
            control.writer(rank).definitions.load(std::memory_order_acquire), step);
    }
}

void Reader::State::read_records(const LogEntry& entry, StepRecord& step) {
    logged_attributes.clear();
    int rank = 0;
    for (const LoggedBlock& block : seat->log->records(entry)) {
        const auto bytes =
            seat->log->read(block, text("the record of rank ", rank, " of step ", entry.step));
        read_logged_record(rank, {bytes.get(), block.bytes}, step, logged_attributes);
        ++rank;
    }
}

void Reader::State::finish_current(bool read) {
    if (current) {
        current->finish(read);
        current.reset();
    }
}

Attributes Reader::attributes() const {
    const auto turn = state_->handle.turn();
    return state_->seat ? state_->attributes() : state_->final_attributes;
}

Attributes Reader::State::attributes() {
    Attributes all;
    // Of a stream that is over there is no other memory than the disk.
    for (std::size_t rank = 0; rank < seat->arenas.size(); ++rank) {
        RecordReader& record = records[rank];
        record.follow_definitions(seat->control.writer(static_cast<int>(rank))
                                      .definitions.load(std::memory_order_acquire));
        Attributes more = record.series_attributes();
        all.merge(more);
    }
    Attributes on_disk = logged_attributes;
    all.merge(on_disk);
    return all;
}

void Reader::leave(bool step_was_read) {
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
    r.finish_current(step_was_read);
    r.final_stats = r.stats();
    r.final_attributes = r.attributes();
    {
        const ControlLock lock(r.seat->control);
        stage::leave(r.seat->control, r.seat->cell);
    }
    r.records.clear();
    r.position.reset();
    r.seat.reset();
}

bool Reader::disk_was_full() const {
    if (state_->handle.inherited()) {
        return false;
    }
    const auto turn = state_->handle.turn();
    return state_->seat && state_->seat->control.header().counters.full_disks.load() != 0;
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
        .steps_from_disk = counters->steps_from_disk,
        .bytes_from_disk = counters->bytes_from_disk,
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
