// SPDX-License-Identifier: Apache-2.0
/// What a reader rank, its steps and the data read from them share; of concern to the reader's own
/// files only.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "fluvial/host/alive_lock.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handle_lock.hpp"
#include "fluvial/stage/heartbeat.hpp"
#include "fluvial/stage/reader.hpp"

namespace fluvial::stage {

/// This process's place in the stream. Lives as long as the reader or anything that was read
/// through it, so that views outlive the reader: the cell is given up with the last of them.
struct Seat {
    Seat(ControlBlock block, std::vector<host::MemoryFile> arena_files, int cell_index);
    ~Seat();

    ControlBlock control;
    std::vector<host::Mapping> arenas;  ///< by writer rank, read-only
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
    std::atomic<std::uint64_t> bytes_viewed = 0;
    std::atomic<std::uint64_t> bytes_copied = 0;
    std::atomic<std::int64_t> copy_ns = 0;
};

/// An open step, shared by the ReadStep and its datasets. What several threads read of it does not
/// change once next() has returned it, but for the lease.
struct StagedDataset::Source {
    StepRecord record;
    std::uint64_t index = 0;
    std::uint64_t skipped = 0;
    std::shared_ptr<ReadCounters> counters;

    void open(std::shared_ptr<Lease> on) { lease_ = std::move(on); }
    /// For as long as data of the step is looked at; `name` wants it. Throws InvalidArgument once
    /// the step has ended, and in a child process.
    std::shared_ptr<Lease> lease(const std::string& name) const;
    void finish();

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<Lease> lease_;  ///< none once the step has ended
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
    ReaderStats final_stats{};          ///< as of close()
    Attributes final_attributes;
    std::string host;  ///< does not change
    std::shared_ptr<StagedDataset::Source> current;
    std::shared_ptr<ReadCounters> counters = std::make_shared<ReadCounters>();
    std::uint64_t next_index = 0;  ///< one past the step that was read last
    bool any_read = false;
    double wait_s = 0;

    /// The next step; null at the end of the stream.
    std::shared_ptr<StagedDataset::Source> next(HandleLock::Call& call);
    ReaderStats stats() const;
    Attributes attributes();
    void finish_current();
};

/// Attaches all ranks of `comm` (open_reader.cpp).
std::shared_ptr<Reader::State> open_reader_state(const std::string& name, const mpi::Comm& comm,
                                                 const ReaderOptions& options);

}  // namespace fluvial::stage
