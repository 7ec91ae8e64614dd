// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/reader.hpp"

#include <algorithm>
#include <iostream>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/stage/reader_state.hpp"

namespace fluvial::stage {

std::uint64_t ReadStep::index() const {
    return source_->index;
}

const Attributes& ReadStep::attributes() const {
    return source_->description.attributes;
}

double ReadStep::stall_timeout_s() const {
    return source_->stall_timeout_s;
}

std::uint64_t ReadStep::skipped() const {
    return source_->skipped;
}

std::vector<std::string> ReadStep::names() const {
    std::vector<std::string> names;
    for (const auto& [name, dataset] : source_->description.datasets) {
        names.push_back(name);
    }
    return names;
}

bool ReadStep::has(const std::string& name) const {
    return source_->description.datasets.count(name) != 0;
}

const std::map<std::string, DatasetDescription>& ReadStep::descriptions() const {
    return source_->description.datasets;
}

std::shared_ptr<const void> ReadStep::hold(std::uint64_t bytes) const {
    auto held = source_->hold("datasets");
    source_->counters->bytes_viewed += bytes;
    return held;
}

StagedDataset ReadStep::dataset(const std::string& name) const {
    const auto found = source_->description.datasets.find(name);
    if (found == source_->description.datasets.end()) {
        throw UnknownName(Problem{text("step ", index(), " has no such dataset"),
                                  text("'", shortened(name), "'"), listed(names()),
                                  did_you_mean(name, names())});
    }
    return {found->second, source_};
}

std::shared_ptr<StepAccess> StagedDataset::Source::hold(const std::string& name) const {
    made_.check("a step that was read");
    const std::lock_guard lock(mutex_);
    if (!access_) {
        throw InvalidArgument(Problem{
            text("'", name, "' cannot be read any more"), text("step ", index, " has ended"),
            "a step that is open", "Read before the next step begins; what was read stays valid"});
    }
    return access_;
}

std::uint64_t StagedDataset::Source::bytes_elsewhere(const Chunk& chunk, const Region& box,
                                                     DType dtype, const StepAccess& held) const {
    if (const std::uint64_t along = held.bytes_along(chunk, box, dtype); along > 0) {
        const std::lock_guard lock(counting_);
        return counted_.insert(&chunk).second ? along : 0;
    }
    return chunk.here() == nullptr ? static_cast<std::uint64_t>(box.volume()) * size_of(dtype) : 0;
}

StagedDataset::Source::Memory StagedDataset::Source::memory_of(
    const DatasetDescription& dataset, const Chunk& chunk,
    const std::shared_ptr<StepAccess>& held) const {
    const Region all = whole(chunk.region.extent);
    if (chunk.here() != nullptr || chunk.region.empty()) {
        counters->bytes_received += bytes_elsewhere(chunk, all, dataset.dtype, *held);
        return {chunk.here(), held};
    }
    const std::lock_guard lock(mutex_);
    auto& loaded = loaded_[&chunk];
    if (!loaded) {
        loaded = held->load(chunk, dataset.dtype,
                            text("a chunk of '", dataset.name, "' in step ", index));
        counters->bytes_from_disk += chunk.in_file() != nullptr ? chunk.in_file()->bytes : 0;
        counters->bytes_received +=
            held->reads_parts() ? bytes_elsewhere(chunk, all, dataset.dtype, *held) : 0;
    }
    return {loaded.get(), loaded};
}

void StagedDataset::Source::finish(bool read) {
    if (made_.inherited()) {
        return;
    }
    const std::unique_lock lock(mutex_);
    if (!access_) {
        return;
    }
    loaded_.clear();
    if (read) {
        access_->was_read();
    }
    if (access_.use_count() == 1) {
        access_->finish_and_release();
    } else {
        access_->finish();
    }
    access_.reset();
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

std::optional<ReadStep> Reader::next(std::optional<double> timeout_s) {
    State& r = *state_;
    HandleLock::Call call(r.handle, "there is no next step");
    if (r.in_next) {
        throw InvalidArgument(Problem{"there is no next step", "another thread waits for one",
                                      "one thread at a time in next()",
                                      "Let one thread call next() and hand the steps out"});
    }
    r.in_next = true;
    try {
        auto source = r.next(call, Deadline(timeout_s.value_or(r.options.step_timeout_s)));
        r.in_next = false;
        return source ? std::optional(ReadStep(std::move(source))) : std::nullopt;
    } catch (const TimedOut&) {
        r.in_next = false;
        if (!timeout_s) {
            throw;
        }
        throw TimedOut(Problem{"no step came in the time that this call was given",
                               text(*timeout_s, " s"), "more", "Call it again"});
    } catch (...) {
        r.in_next = false;
        throw;
    }
}

std::shared_ptr<StagedDataset::Source> Reader::State::next(HandleLock::Call& call,
                                                           const Deadline& deadline) {
    seat->next_follows();
    finish_current(true);
    const std::int64_t begin_ns = now_ns();
    auto step = seat->next(call, deadline);
    wait_s += static_cast<double>(now_ns() - begin_ns) * 1e-9;
    if (!step) {
        return nullptr;
    }
    auto source = std::make_shared<StagedDataset::Source>();
    source->counters = counters;
    source->open(std::move(step->access));
    source->description = std::move(step->description);
    source->form = std::move(step->form);
    source->index = step->index;
    source->stall_timeout_s = options.stall_timeout_s;
    counters->steps_from_disk += step->from_disk ? 1 : 0;
    // Where steps are shared out, one of another job that died may come late.
    source->skipped = any_read && source->index > next_index ? source->index - next_index : 0;
    current = source;
    next_index = source->index + 1;
    any_read = true;
    return source;
}

void Reader::State::finish_current(bool read) {
    if (current) {
        current->finish(read);
        current.reset();
    }
}

Attributes Reader::attributes() const {
    const auto turn = state_->handle.turn();
    return (state_->seat ? state_->seat->series() : state_->final_series).attributes;
}

void Reader::leave(bool step_was_read) {
    State& r = *state_;
    if (r.handle.inherited()) {
        return;
    }
    HandleLock::Closing closing(r.handle, [] {}, [&] { r.seat->wake(); });
    if (!closing.is_mine()) {
        return;
    }
    closing.done();
    r.finish_current(step_was_read);
    r.final_stats = r.stats();
    r.final_series = r.seat->series();
    r.seat->leave();
    r.seat.reset();
}

bool Reader::disk_was_full() const {
    if (state_->handle.inherited()) {
        return false;
    }
    const auto turn = state_->handle.turn();
    return state_->seat && state_->seat->disk_was_full();
}

ReaderStats Reader::stats() const {
    const auto turn = state_->handle.turn();
    return state_->seat ? state_->stats() : state_->final_stats;
}

ReaderStats Reader::State::stats() const {
    const SeatStats now = seat->stats(next_index);
    const std::uint64_t neighbours = seat->bytes_from_neighbours();
    const std::uint64_t elsewhere = counters->bytes_received;
    return {
        .transport = transport,
        .steps_read = now.steps_taken,
        .steps_discarded = now.steps_discarded,
        .steps_from_disk = counters->steps_from_disk,
        .bytes_from_disk = counters->bytes_from_disk,
        .bytes_received = elsewhere - std::min(elsewhere, neighbours),
        .bytes_from_neighbours = neighbours,
        .bytes_by_interface = seat->bytes_by_interface(),
        .bytes_viewed = counters->bytes_viewed,
        .bytes_copied = counters->bytes_copied,
        .queue_depth = now.queue_depth,
        .lag_steps = now.lag_steps,
        .wait_s = wait_s,
        .copy_s = static_cast<double>(counters->copy_ns) * 1e-9,
    };
}

StreamStatus Reader::status() const {
    const auto turn = state_->handle.turn();
    if (!state_->seat) {
        throw InvalidArgument("the stream is closed; look at it while it is open");
    }
    return state_->seat->status();
}

void check_writer_rank(int rank, int ranks) {
    if (rank < 0 || rank >= ranks) {
        throw OutOfBounds(Problem{"the writer has no such rank", text(rank),
                                  rank < 0 ? text("a number from 0 on") : text("0 to ", ranks - 1),
                                  ""});
    }
}

std::string Reader::host_of(int rank) const {
    const auto turn = state_->handle.turn();
    return state_->seat ? state_->seat->host_of(rank) : state_->host;
}

std::string Reader::host() const {
    return state_->host;
}

}  // namespace fluvial::stage
