// SPDX-License-Identifier: Apache-2.0
/// What a reader, its steps and the data read from them share; of concern to the reader's own files
/// only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "fluvial/stage/handle_lock.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/seat.hpp"

namespace fluvial::stage {

struct ReadCounters {
    std::atomic<std::uint64_t> steps_from_disk = 0;
    std::atomic<std::uint64_t> bytes_from_disk = 0;
    std::atomic<std::uint64_t> bytes_received = 0;
    std::atomic<std::uint64_t> bytes_viewed = 0;
    std::atomic<std::uint64_t> bytes_copied = 0;
    std::atomic<std::int64_t> copy_ns = 0;
};

/// An open step, shared by the ReadStep and its datasets. What several threads read of it does not
/// change once next() has returned it, but for the access.
struct StagedDataset::Source {
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    ~Source() {
        if (form) {
            StepForm::give_back(std::move(form), std::move(description));
        }
    }

    StepDescription description;
    std::shared_ptr<StepForm> form;  ///< to which the description is given back; may be none
    std::uint64_t index = 0;
    std::uint64_t skipped = 0;
    double stall_timeout_s = 0;  ///< of the reader
    std::shared_ptr<ReadCounters> counters;

    void open(std::shared_ptr<StepAccess> access) { access_ = std::move(access); }
    /// For as long as data of the step is looked at; `name` wants it. Throws InvalidArgument once
    /// the step has ended, and in a child process.
    std::shared_ptr<StepAccess> hold(const std::string& name) const;
    /// The bytes of a chunk, and what keeps them: `held`, or memory into which they were loaded,
    /// once. Throws as StepAccess::load.
    struct Memory {
        const std::byte* data;
        std::shared_ptr<const void> owner;
    };
    Memory memory_of(const DatasetDescription& dataset, const Chunk& chunk,
                     const std::shared_ptr<StepAccess>& held) const;
    /// What came over a network for a read of a box of a chunk: once, however often it is read,
    /// where it came along with the step.
    std::uint64_t bytes_elsewhere(const Chunk& chunk, const Region& box, DType dtype,
                                  const StepAccess& held) const;
    /// `read`: the reading job has got what it wanted of the step.
    void finish(bool read);

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<StepAccess> access_;  ///< none once the step has ended
    /// What was loaded so far.
    mutable std::map<const Chunk*, std::shared_ptr<const std::byte>> loaded_;
    mutable std::mutex counting_;
    mutable std::set<const Chunk*> counted_;  ///< of those that came along
    MadeHere made_;
};

/// What follows `handle` is used with the turn, but for what does not change.
struct Reader::State {
    std::string name;
    ReaderOptions options;
    HandleLock handle;
    bool in_next = false;
    std::shared_ptr<Seat> seat;  ///< none once closed
    ReaderStats final_stats{};   ///< as of close()
    SeriesDescription final_series;
    std::string host;       ///< does not change
    std::string transport;  ///< likewise
    std::shared_ptr<StagedDataset::Source> current;
    std::shared_ptr<ReadCounters> counters = std::make_shared<ReadCounters>();
    std::uint64_t next_index = 0;  ///< one past the step that was read last
    bool any_read = false;
    double wait_s = 0;

    /// The next step; null at the end of the stream.
    std::shared_ptr<StagedDataset::Source> next(HandleLock::Call& call, const Deadline& deadline);
    ReaderStats stats() const;
    void finish_current(bool read);
};

/// Attaches all ranks of `comm` (open_reader.cpp).
std::shared_ptr<Reader::State> open_reader_state(const std::string& name, const mpi::Comm& comm,
                                                 const ReaderOptions& options);

}  // namespace fluvial::stage
