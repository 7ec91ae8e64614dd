// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/local_seat.hpp"

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/stream_end.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {

/// A step that this rank has taken. What fails in finish() may be tried again.
class LocalSeat::TakenStep : public StepAccess {
  public:
    TakenStep(std::shared_ptr<LocalSeat> seat, std::uint64_t step)
        : seat_(std::move(seat)), step_(step) {}
    std::shared_ptr<const std::byte> load(const Chunk& chunk, DType,
                                          const std::string& what) override {
        return seat_->load(chunk, what);
    }
    void was_read() override { read_ = true; }
    bool inherited() const override { return seat_->made_.inherited(); }

  protected:
    LocalSeat& seat() const { return *seat_; }
    template <class GiveBack>
    void finish_by(const GiveBack& give_back) {
        std::shared_ptr<Position> position;
        {
            const ControlLock lock(seat_->control_);
            if (!finished_) {
                give_back();
                finished_ = true;
            }
            position = seat_->position_;
        }
        if (position && read_) {
            position->advance(step_ + 1);
        }
    }

  private:
    std::shared_ptr<LocalSeat> seat_;
    std::uint64_t step_;
    bool read_ = false;
    bool finished_ = false;
};

/// The right to look at the memory of a step; shared by the step while it is open and by every
/// view.
class LocalSeat::Lease final : public TakenStep {
  public:
    Lease(std::shared_ptr<LocalSeat> seat, int slot, std::uint64_t step)
        : TakenStep(std::move(seat), step), slot_(slot) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() override {
        if (released_ || inherited()) {
            return;  // or it is the parent's
        }
        try {
            const ControlLock lock(seat().control_);
            release_lease(seat().control_, seat().cell_, slot_);
        } catch (const Error&) {
            // A peer is stopped inside its critical section. The lease goes with the seat.
        }
    }
    void finish() override {
        finish_by([this] { finish_reading(seat().control_, seat().cell_, slot_); });
    }
    void finish_and_release() override {
        finish_by([this] {
            finish_reading(seat().control_, seat().cell_, slot_, true);
            released_ = true;
        });
    }

  private:
    int slot_;
    bool released_ = false;
};

class LocalSeat::StepOnDisk final : public TakenStep {
  public:
    using TakenStep::TakenStep;
    void finish() override {
        finish_by([this] { finish_logged(seat().control_, seat().cell_); });
    }
};

LocalSeat::LocalSeat(ControlBlock block, std::vector<host::MemoryFile> arena_files,
                     std::optional<StepLog> steps, int cell_index, const ReaderOptions& options)
    : control_(std::move(block)),
      log_(std::move(steps)),
      cell_(cell_index),
      options_(options),
      alive_(control_.file(), control_.reader_lock(cell_index)) {
    for (const host::MemoryFile& file : arena_files) {
        arenas_.push_back(file.map(host::Access::ReadOnly));
        records_.emplace_back(control_.job_rank(static_cast<int>(records_.size())),
                              arenas_.back().size(), arenas_.back().data());
    }
    ReaderCell& mine = control_.reader(cell_);
    heartbeat_ =
        std::make_unique<Heartbeat>(mine.beat_ns, beat_interval_s(header().stall_timeout_s));
    const ControlLock lock(control_);
    activate_reader(control_, cell_);
}

LocalSeat::~LocalSeat() {
    heartbeat_.reset();
    try {
        const ControlLock lock(control_);
        if (control_.reader(cell_).state == MemberState::Active) {
            stage::leave(control_, cell_);
        }
        alive_ = {};
        vacate(control_, cell_);
    } catch (const Error&) {
        // A peer is stopped inside its critical section. Our alive lock goes now, and the others
        // clear up after us.
    }
}

void LocalSeat::wait_for_others() {
    const GroupCell& group = control_.group(static_cast<int>(control_.reader(cell_).group));
    const auto complete = await(
        control_, header().space_bell, Deadline(options_.rendezvous_timeout_s),
        [&]() -> std::optional<bool> {
            return group.state == GroupState::Joining ? std::nullopt : std::optional(true);
        },
        NoOtherThreads());
    if (!complete) {
        throw TimedOut(Problem{"the reader's ranks did not all attach in time",
                               text(group.joined, " of ", group.size), "",
                               "Raise rendezvous_timeout"});
    }
}

void LocalSeat::look_for_failure() {
    const ControlLock lock(control_);
    reap(control_);
    const GroupCell& group = control_.group(static_cast<int>(control_.reader(cell_).group));
    if (group.next_step >= header().counters.complete_end) {  // else there is a step to be had
        at_end(control_, cell_, options_.stall_timeout_s);
    }
}

std::optional<OpenedStep> LocalSeat::next(HandleLock::Call& call, const Deadline& deadline,
                                          std::optional<std::uint64_t> given) {
    const StepLog* const log = log_ ? &*log_ : nullptr;
    bool others_lag = false;
    const auto taken = await(
        control_, header().step_bell, deadline,
        [&]() -> std::optional<Taken> {
            const Taken next =
                given ? take_given(control_, cell_, *given) : take(control_, cell_, log);
            if (next.any() || next.gone) {
                return next;
            }
            others_lag = next.others_lag;
            return others_lag || !at_end(control_, cell_, options_.stall_timeout_s)
                       ? std::nullopt
                       : std::optional(Taken{});
        },
        call);
    if (!taken) {
        throw no_step_in_time(header().name, options_.step_timeout_s, others_lag);
    }
    if (!taken->any()) {
        return std::nullopt;
    }
    OpenedStep step;
    if (taken->logged) {
        step.index = taken->logged->step;
        step.access = std::make_shared<StepOnDisk>(shared_from_this(), step.index);
        step.from_disk = true;
    } else {
        step.index = control_.slots()[taken->slot].step.load(std::memory_order_acquire);
        step.access = std::make_shared<Lease>(shared_from_this(), taken->slot, step.index);
    }
    try {
        taken->logged ? read_records(*taken->logged, step.description)
                      : read_records(taken->slot, step);
    } catch (...) {
        step.access->finish();
        throw;
    }
    return step;
}

bool LocalSeat::shares_out() const {
    return stage::shares_out(control_, cell_);
}

void LocalSeat::read_records(int slot, OpenedStep& step) {
    std::vector<std::span<const std::byte>> found;
    for (int rank = 0; rank < control_.writer_ranks(); ++rank) {
        RecordReader& record = records_[static_cast<std::size_t>(rank)];
        record.follow_definitions(
            control_.writer(rank).definitions.load(std::memory_order_acquire));
        found.push_back(record.record(control_.record(slot, rank)));
    }
    step.form = decoder_.decode(records_, found);
    step.description = std::move(step.form->description);
}

void LocalSeat::read_records(const LogEntry& entry, StepDescription& step) {
    logged_series_ = {};
    int rank = 0;
    for (const BytesOfFile& block : log_->records(entry)) {
        const auto bytes =
            log_->read(block, text("the record of rank ", rank, " of step ", entry.step));
        read_logged_record(control_.job_rank(rank), {bytes.get(), block.bytes}, step,
                           logged_series_);
        ++rank;
    }
}

std::shared_ptr<const std::byte> LocalSeat::load(const Chunk& chunk,
                                                 const std::string& what) const {
    const BytesOfFile* const place = chunk.in_file();
    if (!log_ || place == nullptr) {
        throw Error("a chunk is said to be on a disk, but the stream has no steps there");
    }
    try {
        return log_->read(*place, what);
    } catch (const DamagedFile&) {
        check_has_its_place(what);
        throw;
    }
}

/// Steps of a reader that has lost its place are given back to the disk, also while it reads them.
void LocalSeat::check_has_its_place(const std::string& what) const {
    const ControlLock lock(control_);
    const GroupCell& group = control_.group(static_cast<int>(control_.reader(cell_).group));
    if (group.state == GroupState::Evicted) {
        throw PeerStalled(
            Problem{text(what,
                         " is not on the disk any more: this reader lost its place in the "
                         "stream"),
                    group.departed, "", "Attach again to go on with later steps"});
    }
    if (group.state == GroupState::Broken) {
        throw PeerLost(Problem{
            text(what, " is not on the disk any more: this reader is broken"), group.departed, "",
            "All ranks of a reader take the same steps; restart the reading job"});
    }
}

SeriesDescription LocalSeat::series() {
    SeriesDescription all;
    // Of a stream that is over there is no other memory than the disk.
    for (std::size_t rank = 0; rank < arenas_.size(); ++rank) {
        RecordReader& record = records_[rank];
        record.follow_definitions(
            control_.writer(static_cast<int>(rank)).definitions.load(std::memory_order_acquire));
        all.add(record.series());
    }
    all.add(logged_series_);
    return all;
}

SeatStats LocalSeat::stats(std::uint64_t next_index) const {
    const ControlLock lock(control_);
    return stats_of(control_, cell_, next_index);
}

StreamStatus LocalSeat::status() {
    const ControlLock lock(control_);
    reap(control_);  // no other process may have noticed a death
    return status_of(control_);
}

void LocalSeat::keep(Position position) {
    const ControlLock lock(control_);
    position_ = std::make_shared<Position>(std::move(position));
}

void LocalSeat::leave() {
    const ControlLock lock(control_);
    stage::leave(control_, cell_);
    position_.reset();
}

}  // namespace fluvial::stage
