// SPDX-License-Identifier: Apache-2.0
/// What a writer rank and its open step share; of concern to writer.cpp, write_step.cpp and
/// open_writer.cpp only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "fluvial/host/alive_lock.hpp"
#include "fluvial/stage/arena.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handle_lock.hpp"
#include "fluvial/stage/heartbeat.hpp"
#include "fluvial/stage/host_service.hpp"
#include "fluvial/stage/logged_steps.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/staging_copy.hpp"
#include "fluvial/stage/step_log.hpp"
#include "fluvial/stage/step_record.hpp"
#include "fluvial/stage/writer.hpp"

namespace fluvial::stage {

/// What follows `handle` is used with the turn.
struct Writer::State {
    std::string name;
    WriterOptions options;
    std::string path;     ///< of the contact file
    std::string contact;  ///< what it says
    int rank = 0;
    HandleLock handle;

    // Destroyed from the bottom up: what serves others ends before the memory that it serves.
    std::optional<StepLog> log;  ///< of a stream that spills or retains steps
    RememberedEntry oldest_logged;
    host::Descriptor retaining;  ///< tells readers that steps are still being retained
    std::optional<ControlBlock> control;
    std::shared_ptr<Arena> arena;  ///< shared with spans that a binding handed out
    std::optional<host::AliveLock> alive;
    std::unique_ptr<Heartbeat> heartbeat;
    std::optional<host::Event> step_event;  ///< wakes what serves other hosts
    std::unique_ptr<HostService> service;
    std::unique_ptr<RemoteService> remote;  ///< of rank 0, where other hosts may connect, and
                                            ///< of rank 1, which stands by for it
    std::unique_ptr<PublishedContact> published;

    std::unique_ptr<RecordWriter> records;
    StagingCopy copy;
    /// Blocks of each step that is still in memory, by slot: they return to the arena when the slot
    /// leaves the step.
    struct StagedStep {
        int slot;
        std::uint64_t step;
        std::vector<std::uint64_t> blocks;
    };
    std::vector<StagedStep> staged;

    std::uint64_t next_step = 0;
    bool step_open = false;                    ///< or about to be
    std::shared_ptr<WriteStep::State> opened;  ///< the open step, until it is finished or given up
    std::thread::id step_thread;               ///< which began it
    bool closed = false;
    WriterStats final_stats{};  ///< as of close()
    std::uint64_t bytes_copied = 0;
    std::uint64_t bytes_in_place = 0;
    double wait_s = 0;
    double copy_s = 0;

    WriterStats stats() const;
    /// Throws when this thread forgot to end its step, which no other thread is busy with.
    void check_step_over() const;
    /// Wakes the threads that wait for room.
    void wake() const { control->header().space_bell.ring(); }
    /// What is left of a step is given up: of a thread that ended with it, where the stream is
    /// closed, and where a peer that was stopped kept it from being given up before.
    void give_up_step();

    std::shared_ptr<WriteStep::State> begin_step(HandleLock::Call& call,
                                                 const std::shared_ptr<State>& self,
                                                 const Attributes& attributes);
    /// Throws what the stream failed with. Under the control lock.
    void check_failure() const;
    /// Waits until readers on other hosts have all that they are to get, `timeout_s` at most.
    /// Returns a reader that does not, or nothing. Their steps lie in this process.
    std::string drain(double timeout_s);
    /// Stops taking part; what readers still need lives on in their mappings.
    void depart();
    /// Returns the blocks of steps that have left the queue.
    void collect();
    /// Returns the room on the disk of steps that all have read; `also_unread`: and of steps that
    /// no reader waits for.
    void free_disk(bool also_unread);
};

struct WriteStep::State {
    std::shared_ptr<Writer::State> writer;
    std::shared_ptr<Arena> arena;  ///< the writer's, also once that is closed
    std::uint64_t step = 0;
    int slot = -1;
    std::atomic<bool> accepted = false;
    bool spilled = false;  ///< goes to the disk as a whole
    std::atomic<bool> ended = false;
    int puts = 0;  ///< under way
    std::vector<std::uint64_t> blocks;
    /// The rest of the last of the blocks that small chunks share.
    std::uint64_t shared_at = 0;
    std::uint64_t shared_left = 0;
    std::uint64_t shared_bytes = 0;  ///< of that block
    /// Where spans of a discarded step go.
    std::vector<std::unique_ptr<std::byte[]>> scratch;
    /// Spans of the step that go to the disk when it ends: their chunks.
    struct DiskSpan {
        std::size_t chunk;
        std::span<const std::byte> bytes;
    };
    std::vector<DiskSpan> disk_spans;

    void check_open() const;
    void check_not_ended() const;
    /// A place in the arena, which goes with the step.
    std::uint64_t allocate(std::uint64_t bytes);
    /// A new chunk: its number in the step, and its place in the arena; 0: on the disk.
    struct Place {
        std::size_t chunk;
        std::uint64_t arena_offset;
    };
    /// Where in their datasets arrays are put: at zero, and datasets of their extents, unless said.
    struct Where {
        const Coordinates* offset;
        const Coordinates* shape;

        Region region(const ArrayView& data) const {
            return {offset != nullptr ? *offset : Coordinates(data.ndim(), 0), data.extent};
        }
        const Coordinates& global(const ArrayView& data) const {
            return shape != nullptr ? *shape : data.extent;
        }
    };
    /// A chunk for each of the arrays, all in the arena or all on the disk. False when the step was
    /// discarded.
    bool place(HandleLock::Call& call, std::span<const NamedArray> arrays, const Where& where,
               std::span<Place> places);
    /// Fills the places with the elements; what fails leaves no chunk of them.
    void fill(HandleLock::Call& call, std::span<const NamedArray> arrays,
              std::span<const Place> places);
    /// As WriteStep::put; `places` has room for each of them.
    void put(std::span<const NamedArray> arrays, const Where& where, std::span<Place> places);
    /// Reserves `bytes` on the disk and calls `write` with their offset, which returns none while
    /// it is full. Waits then, or gives the step up and returns none, as the policy says. Others
    /// have their turns meanwhile.
    template <class Write>
    std::optional<BytesOfFile> append(HandleLock::Call& call, std::uint64_t bytes, Write write);
    std::optional<BytesOfFile> append(HandleLock::Call& call, std::span<const std::byte> bytes);
    /// The same of a whole array, from wherever its elements lie.
    std::optional<BytesOfFile> append(HandleLock::Call& call, const ArrayView& data);
    /// What of the step belongs on the disk and is not there yet, and its record. What throws may
    /// be tried again.
    void log_rest(HandleLock::Call& call);
    /// Takes note of the step's end; with the turn, like all of these.
    void finish(bool spoiled);

    BytesOfFile logged_record{};  ///< of this rank, once it is on the disk
};

/// Opens the stream on all ranks (open_writer.cpp).
std::shared_ptr<Writer::State> open_writer(const std::string& name, const mpi::Comm& comm,
                                           const WriterOptions& options);

}  // namespace fluvial::stage
