// SPDX-License-Identifier: Apache-2.0
/// A reader rank on the writer's host, or one that reads the steps which a stream has retained: it
/// shares the control block with the writer, and maps its memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/host/alive_lock.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/heartbeat.hpp"
#include "fluvial/stage/position.hpp"
#include "fluvial/stage/seat.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

/// Lives as long as the reader or anything that was read through it, so that views outlive the
/// reader: the cell is given up with the last of them.
class LocalSeat final : public Seat, public std::enable_shared_from_this<LocalSeat> {
  public:
    /// Takes the cell that the writer, or the process that made the control block, has given to
    /// this rank.
    LocalSeat(ControlBlock block, std::vector<host::MemoryFile> arena_files,
              std::optional<StepLog> steps, int cell_index, const ReaderOptions& options);
    ~LocalSeat() override;
    LocalSeat(const LocalSeat&) = delete;
    LocalSeat& operator=(const LocalSeat&) = delete;

    /// The steps that the stream retains are those in the folder `path`.
    bool retains_in(const std::string& path) const { return log_ && log_->lies_in(path); }
    /// That its steps are of; of a stream that has steps on a disk.
    std::uint64_t run() const { return log_->head().run; }
    /// How far this rank has come is kept until leave(). Before the first step.
    void keep(Position position);

    void wait_for_others() override;
    using Seat::next;
    std::optional<OpenedStep> next(HandleLock::Call& call, const Deadline& deadline,
                                   std::optional<std::uint64_t> given) override;
    void look_for_failure() override;
    bool shares_out() const override;
    SeriesDescription series() override;
    SeatStats stats(std::uint64_t next_index) const override;
    StreamStatus status() override;
    bool disk_was_full() const override { return header().counters.full_disks.load() != 0; }
    std::string host() const override { return header().host; }
    std::string host_of(int rank) const override {
        check_writer_rank(rank, static_cast<int>(header().job_ranks));
        return host();
    }
    std::string transport() const override { return "shared memory"; }
    void wake() override { header().step_bell.ring(); }
    void leave() override;

  private:
    class TakenStep;
    class Lease;
    class StepOnDisk;

    ControlHeader& header() const { return control_.header(); }
    void read_records(int slot, OpenedStep& step);
    void read_records(const LogEntry& entry, StepDescription& step);
    std::shared_ptr<const std::byte> load(const Chunk& chunk, const std::string& what) const;
    void check_has_its_place(const std::string& what) const;

    ControlBlock control_;
    std::vector<host::Mapping> arenas_;  ///< by writer rank, read-only
    std::optional<StepLog> log_;         ///< of a stream that has steps on a disk
    int cell_;
    ReaderOptions options_;
    host::AliveLock alive_;
    std::unique_ptr<Heartbeat> heartbeat_;
    std::vector<RecordReader> records_;  ///< by writer rank
    StepDecoder decoder_;
    SeriesDescription logged_series_;  ///< as steps on the disk say
    /// Of a job that can resume; under the control lock.
    std::shared_ptr<Position> position_;
    MadeHere made_;
};

/// What all readers may see of a stream, and what one rank does (stream_status.cpp). Under the
/// control lock.
StreamStatus status_of(const ControlBlock& control);
SeatStats stats_of(const ControlBlock& control, int cell, std::uint64_t next_index);

}  // namespace fluvial::stage
