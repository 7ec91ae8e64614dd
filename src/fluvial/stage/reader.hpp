// SPDX-License-Identifier: Apache-2.0
/// The reading end of a stream between jobs.
///
///     stage::Reader reader("melt", comm);
///     while (auto step = reader.next()) {
///         stage::Data x = step->dataset("particles/atoms/position/x").read();   // a view where no
///         copy is needed
///     }
///     reader.close();
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/movable.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/selection.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stage/options.hpp"
#include "fluvial/stage/step_record.hpp"

namespace fluvial::stage {

struct ReaderStats {
    std::string transport;     ///< how data comes from the writer: "shared memory", "tcp"
    std::uint64_t steps_read;  ///< begun by this rank
    /// By the writer's policy, or its own, while this reader was attached; on any of the writer's
    /// hosts.
    std::uint64_t steps_discarded;
    std::uint64_t steps_from_disk;  ///< of those read: spilled or retained ones
    std::uint64_t bytes_from_disk;
    std::uint64_t bytes_received;  ///< over a network
    /// What other ranks of this host had brought over it already.
    std::uint64_t bytes_from_neighbours;
    /// What each interface of this host brought, with messages and what came twice.
    std::map<std::string, std::uint64_t> bytes_by_interface;
    std::uint64_t bytes_viewed;  ///< handed out without a copy
    std::uint64_t bytes_copied;  ///< gathered from several chunks
    int queue_depth;
    std::uint64_t lag_steps;  ///< complete steps that this rank has not begun
    double wait_s;            ///< time that this rank spent waiting for steps
    double copy_s;
};

/// A reading job as the control block has it.
struct ReaderStatus {
    int number;
    int ranks;
    int pid;            ///< of the first rank that is there
    std::string state;  ///< "active", "joining", "leaving", "broken", "evicted"
    bool observes;      ///< looks on: see Start::Observe
    std::string full;   ///< its policy for a full queue: its own, or the writer's
    std::uint64_t steps_taken;
    std::uint64_t steps_discarded;  ///< by that policy, while it was attached
    std::uint64_t lag_steps;        ///< complete steps that it has not begun
    std::uint64_t lag_on_disk;      ///< those of them that were spilled, or are kept there alone
    int steps_held;                 ///< that its ranks have begun, or have views of
};

/// A stream as all its readers may see it.
struct StreamStatus {
    std::string name, host, full, failure;
    int writer_ranks, writer_pid, writers_closed;
    std::uint64_t steps_begun, steps_written, steps_discarded, steps_unread, steps_spoiled,
        steps_spilled;
    std::uint64_t bytes_staged, bytes_in_use, queue_bytes;
    int queue_depth, queue_steps;
    std::vector<ReaderStatus> readers;
};

/// Elements that were read; valid as long as this object (or a copy of `owner`) lives, also after
/// the step, the reader and the writer are gone. A view keeps the memory of its step in the
/// writer's queue.
struct Data {
    ArrayView view;
    std::shared_ptr<const void> owner;
    bool copied = false;
};

class ReadStep;

/// A dataset of a step. Usable until the step ends.
class StagedDataset {
  public:
    const DatasetDescription& description() const { return *description_; }
    const std::string& name() const { return description_->name; }
    DType dtype() const { return description_->dtype; }
    const Coordinates& shape() const { return description_->shape; }
    const Attributes& attributes() const { return description_->attributes; }
    /// Where the data lies: one entry a put, of all writer ranks.
    const std::vector<Chunk>& chunks() const { return description_->chunks; }

    /// The selected elements: a view into the writer's memory when one chunk holds them all,
    /// otherwise gathered by one copy. Local. Throws InvalidArgument (outside the shape; the step
    /// has ended), Error (elements that no chunk covers: names the first such region).
    Data read(const Selection& selection) const;
    Data read() const { return read(select(whole(shape()))); }

    struct Source;  ///< reader_state.hpp

  private:
    friend class ReadStep;
    StagedDataset(const DatasetDescription& description, std::shared_ptr<Source> source);
    const DatasetDescription* description_;
    std::shared_ptr<Source> source_;
};

/// A step being read by this rank.
class ReadStep {
  public:
    std::uint64_t index() const;
    const Attributes& attributes() const;
    /// How long a peer may give no heartbeat, as the reader was opened.
    double stall_timeout_s() const;
    /// Steps between the previous one that this reader got and this one.
    std::uint64_t skipped() const;
    std::vector<std::string> names() const;
    /// Throws InvalidArgument that lists the names when there is no such dataset.
    StagedDataset dataset(const std::string& name) const;
    bool has(const std::string& name) const;
    /// What the datasets are, by name; as long as the step, or a dataset of it, lives.
    const std::map<std::string, DatasetDescription>& descriptions() const;
    /// Keeps memory in which chunks lie here (Chunk::here) as reading them in place does, `bytes`
    /// of it: for callers that look at many chunks. Throws InvalidArgument once the step has ended.
    std::shared_ptr<const void> hold(std::uint64_t bytes) const;
    /// Gives the place in the queue back; called by the reader's next() and close(). Data that was
    /// read stays valid. A reading job that resumes later goes on after this step.
    void finish();

  private:
    friend class Reader;
    explicit ReadStep(std::shared_ptr<StagedDataset::Source> source) : source_(std::move(source)) {}
    std::shared_ptr<StagedDataset::Source> source_;
};

/// Several threads may use a Reader, one at a time next(), and close it while others wait, which
/// are told so by InvalidArgument. Reads run side by side. In a child by fork every call is an
/// InvalidArgument, but for close(), which does nothing there, like the destructor.
class Reader {
  public:
    /// Attaches to the stream `name`. Collective over `comm`, which is used here only and not kept:
    /// all ranks of it are one reader and get the same steps. Waits until the writer has opened the
    /// stream. Throws on every rank: InvalidArgument, TimedOut (no writer came), StaleContact (the
    /// writer is dead), Refused (wrong key or user).
    Reader(const std::string& name, const mpi::Comm& comm, const ReaderOptions& options = {});
    Reader(Reader&&) noexcept;
    Reader& operator=(Reader&&) = delete;
    ~Reader();

    /// Ends the previous step and waits for the next one; none at the end of the stream. Local.
    /// Throws TimedOut after step_timeout, or after `timeout_s` where that is given (0: at once),
    /// PeerLost when the writer failed and every complete step has been read, PeerStalled when the
    /// writer gives no heartbeat, or when this reader was evicted because it gave none.
    std::optional<ReadStep> next(std::optional<double> timeout_s = {});

    /// Attributes of the whole series, as known with the latest step.
    Attributes attributes() const;
    /// Leaves the stream. Local; waits for calls of other threads that are under way; the writer
    /// goes on. Data that was read stays valid.
    void close() { leave(true); }
    /// The same for a reader that has not got what it wanted of its step, such as one that failed
    /// in the middle: a job that resumes gets the step again. So does the destructor.
    void abort() { leave(false); }
    ReaderStats stats() const;
    /// The writer's disk of spilled or retained steps has had no room at least once; at no cost.
    /// False once closed.
    bool disk_was_full() const;
    /// The status of the whole stream: its queue and all its readers. Throws InvalidArgument once
    /// closed.
    StreamStatus status() const;
    std::string host() const;  ///< of the writer's first rank
    /// Of that rank of the writer. Throws OutOfBounds, but takes any number from 0 on where the
    /// writer's only host is another one.
    std::string host_of(int rank) const;

    struct State;  ///< reader_state.hpp

  private:
    void leave(bool step_was_read);
    Movable<State> state_;
};

}  // namespace fluvial::stage
