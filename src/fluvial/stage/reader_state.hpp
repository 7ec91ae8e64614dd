// SPDX-License-Identifier: Apache-2.0
/// What a reader rank, its steps and the data read from them share; of concern to the reader's own
/// files only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fluvial/host/alive_lock.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handle_lock.hpp"
#include "fluvial/stage/heartbeat.hpp"
#include "fluvial/stage/position.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// This process's place in the stream. Lives as long as the reader or anything that was read
/// through it, so that views outlive the reader: the cell is given up with the last of them.
struct Seat {
    Seat(ControlBlock block, std::vector<host::MemoryFile> arena_files,
         std::optional<StepLog> steps, int cell_index);
    ~Seat();

    ControlBlock control;
    std::vector<host::Mapping> arenas;  ///< by writer rank, read-only
    std::optional<StepLog> log;         ///< of a stream that has steps on a disk
    int cell;
    host::AliveLock alive;
    std::unique_ptr<Heartbeat> heartbeat;
    MadeHere made;
};

/// The right to look at the memory of a step; shared by the step while it is open and by every
/// view.
struct Lease {
    Lease(std::shared_ptr<Seat> from, int of_slot) : seat(std::move(from)), slot(of_slot) {}
    Lease(const Lease&) = delete;
    ~Lease();

    std::shared_ptr<Seat> seat;
    int slot;
};

struct ReadCounters {
    std::atomic<std::uint64_t> steps_from_disk = 0;
    std::atomic<std::uint64_t> bytes_from_disk = 0;
    std::atomic<std::uint64_t> bytes_viewed = 0;
    std::atomic<std::uint64_t> bytes_copied = 0;
    std::atomic<std::int64_t> copy_ns = 0;
};

/// An open step, shared by the ReadStep and its datasets. What several threads read of it does not
/// change once next() has returned it, but for the lease.
struct StagedDataset::Source {
    StepRecord record;
    std::shared_ptr<Position> position;  ///< of a reading job that can resume; may be none
    std::uint64_t index = 0;
    std::uint64_t skipped = 0;
    std::shared_ptr<ReadCounters> counters;

    void open(std::shared_ptr<Lease> on) { lease_ = std::move(on); }
    /// A step that is on the disk.
    void open(std::shared_ptr<Seat> on_disk) { on_disk_ = std::move(on_disk); }
    /// For as long as data of the step is looked at; `name` wants it. Throws InvalidArgument once
    /// the step has ended, and in a child process.
    std::shared_ptr<const void> hold(const std::string& name) const;
    /// The bytes of a chunk, and what keeps them: `held`, or memory into which they were read from
    /// the disk, once. Throws DamagedFile.
    struct Memory {
        const std::byte* data;
        std::shared_ptr<const void> owner;
    };
    Memory memory_of(const std::string& name, const Chunk& chunk,
                     const std::shared_ptr<const void>& held) const;
    /// `read`: the reading job has got what it wanted of the step.
    void finish(bool read);

  private:
    const StepLog& log() const;
    void check_not_evicted() const;

    mutable std::mutex mutex_;
    std::shared_ptr<Lease> lease_;   ///< none once the step has ended
    std::shared_ptr<Seat> on_disk_;  ///< likewise
    /// What was read from the disk so far, by the place there.
    mutable std::map<std::uint64_t, std::shared_ptr<const std::byte>> loaded_;
    MadeHere made_;
};

/// What follows `handle` is used with the turn, but for what does not change.
struct Reader::State {
    std::string name;
    ReaderOptions options;
    HandleLock handle;
    bool in_next = false;
    std::shared_ptr<Seat> seat;         ///< none once closed
    std::vector<RecordReader> records;  ///< by writer rank
    Attributes logged_attributes;       ///< of the series, as steps on the disk say
    std::shared_ptr<Position> position;
    ReaderStats final_stats{};  ///< as of close()
    Attributes final_attributes;
    std::string host;  ///< does not change
    std::shared_ptr<StagedDataset::Source> current;
    std::shared_ptr<ReadCounters> counters = std::make_shared<ReadCounters>();
    std::uint64_t next_index = 0;  ///< one past the step that was read last
    bool any_read = false;
    double wait_s = 0;

    /// The next step; null at the end of the stream.
    std::shared_ptr<StagedDataset::Source> next(HandleLock::Call& call);
    void read_records(int slot, StepRecord& step);
    void read_records(const LogEntry& entry, StepRecord& step);
    ReaderStats stats() const;
    Attributes attributes();
    void finish_current(bool read);
};

/// Attaches all ranks of `comm` (open_reader.cpp).
std::shared_ptr<Reader::State> open_reader_state(const std::string& name, const mpi::Comm& comm,
                                                 const ReaderOptions& options);

}  // namespace fluvial::stage
