// SPDX-License-Identifier: Apache-2.0
/// The writing end of a stream between jobs.
///
///     stage::Writer writer("melt", comm, {.queue_steps = 4});
///     for (…) {
///         stage::WriteStep step = writer.begin_step({{"time", t}});
///         step.put("particles/atoms/position/x", ArrayView(x, DType::Float64, {n}), {offset},
///         {n_total}); step.end();
///     }
///     writer.close();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fluvial/base/movable.hpp"
#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stage/options.hpp"

namespace fluvial::stage {

struct WriterStats {
    std::uint64_t steps_written;    ///< completed by all ranks and offered to readers
    std::uint64_t steps_discarded;  ///< by the queue's policy
    std::uint64_t steps_unread;     ///< offered, but not begun by any reader so far
    std::uint64_t steps_spoiled;    ///< given up by an error inside the step
    std::uint64_t steps_spilled;    ///< that went to the disk because the queue was full
    std::uint64_t bytes_staged;     ///< over all ranks
    std::uint64_t bytes_logged;     ///< written to the disk: spilled, and retained; over all ranks
    std::uint64_t bytes_on_disk;    ///< of those, not given back yet
    std::uint64_t full_disks;       ///< times that the disk had no room
    std::uint64_t bytes_copied;     ///< by this rank, into the staging area
    std::uint64_t bytes_in_place;   ///< written by this rank through spans
    std::uint64_t bytes_in_use;     ///< of the queue's limit, now
    std::uint64_t arena_bytes;      ///< memory that this rank's staging area occupies
    int queue_depth;
    int readers;  ///< reader jobs attached now
    std::uint64_t readers_joined;
    std::uint64_t readers_lost;     ///< died
    std::uint64_t readers_evicted;  ///< stalled
    double wait_s;                  ///< time that this rank spent waiting for room
    double copy_s;
};

class Writer;

/// One of the arrays that are put together. What it refers to outlives the call.
struct NamedArray {
    std::string_view name;
    const ArrayView* data;
    /// In the place of those of earlier steps, which stay where this is null.
    const Attributes* attributes = nullptr;
};

/// A step being written by this rank. Ends by end(); going out of scope without it gives the step
/// up on all ranks. Several threads may put at a time; the copies run side by side.
class WriteStep {
  public:
    WriteStep(WriteStep&&) noexcept = default;
    WriteStep& operator=(WriteStep&&) = delete;
    ~WriteStep();

    std::uint64_t index() const;
    /// False when the queue's policy discarded the step: puts are then free of cost and effect. May
    /// become false in the middle of the step, when its bytes do not fit.
    bool accepted() const;

    /// Copies this rank's chunk at `offset` of the dataset with global `shape` into the staging
    /// area: one copy, from any strides. Blocks while the byte limit is reached and the policy says
    /// so. Empty attributes say nothing: those of earlier steps stay. Local. Throws InvalidArgument
    /// (outside the shape; other dtype or shape than on another rank; larger than the limit),
    /// TimedOut, SystemError (no memory).
    void put(const std::string& name, const ArrayView& data, const Coordinates& offset,
             const Coordinates& shape, const Attributes& attributes = {});

    /// Puts all of them, at the same `offset` (none: zeros) of datasets of the same global `shape`
    /// (none: that of each array). They get their room at once, and are on the same side where a
    /// full queue spills. Local. Errors as put: then none of them is put.
    void put(std::span<const NamedArray> arrays, const std::optional<Coordinates>& offset = {},
             const std::optional<Coordinates>& shape = {});

    /// Memory of the staging area for this rank's chunk, to be filled before end(): no copy at all.
    /// Attributes and errors as put.
    MutableArrayView span(const std::string& name, DType dtype, const Region& region,
                          const Coordinates& shape, const Attributes& attributes = {});
    /// The same with attributes as a NamedArray has them: an empty map takes all away.
    MutableArrayView span(const std::string& name, DType dtype, const Region& region,
                          const Coordinates& shape, const Attributes* attributes);
    /// Keeps the memory of spans mapped, for bindings whose users may hold on to them beyond end().
    /// Writing to one then is a mistake, but not a crash.
    std::shared_ptr<const void> keep_spans() const;

    /// Offers the step to readers once all ranks have ended it. Local; waits for nothing but puts
    /// of other threads, and for room on a disk that the step goes to. Throws InvalidArgument when
    /// another thread has closed the stream, TimedOut when the disk stayed full, and PeerStalled
    /// when a process was stopped while it changed the state of the stream. The step is open then:
    /// end it again, or give it up.
    void end();
    /// Gives the step up: no reader will see it, on whichever rank this is called.
    void abandon();

  private:
    friend class Writer;
    struct State;
    explicit WriteStep(std::shared_ptr<State> state);
    Movable<State> state_;
};

/// Several threads may use a Writer and its step, and close it while others wait, which are told
/// so by InvalidArgument. In a child by fork every call is an InvalidArgument, but for close() and
/// abort(), which do nothing there, like the destructor.
class Writer {
  public:
    /// Opens the stream `name` for writing. Collective over `comm`, which is used here only and not
    /// kept. Each host of its ranks gets a queue of its own. Waits for `options.readers` reader
    /// jobs. Throws on every rank: InvalidArgument (options, name in use), TimedOut (no reader
    /// came), SystemError.
    Writer(const std::string& name, const mpi::Comm& comm, const WriterOptions& options = {});
    Writer(Writer&&) noexcept;
    Writer& operator=(Writer&&) = delete;
    /// Without close() before: the stream ends with an error on the other ranks and on the readers.
    ~Writer();

    /// Attributes of the whole series; set them before the first step.
    void set_attributes(const Attributes& attributes);

    /// Begins the next step on this rank. Local, but waits as the queue's policy says. The first
    /// rank to come decides for all whether the step is accepted. Throws TimedOut after
    /// step_timeout (naming the readers that hold the queue), PeerLost when another rank died or
    /// failed, InvalidArgument while another step is open.
    WriteStep begin_step(const Attributes& attributes = {});

    /// Ends the stream on this rank; readers get what is queued. Local; waits for calls of other
    /// threads that are under way, and on the first rank of each host for readers on other hosts
    /// to have everything: on the same host the queue lives on in its readers. A step that another
    /// thread has open is given up. Throws what another rank failed with, if any did, TimedOut when
    /// a reader elsewhere had not read all after step_timeout, and InvalidArgument while this
    /// thread has a step open.
    void close();
    /// Ends the stream with an error, on all ranks and for the readers.
    void abort(const std::string& why);

    WriterStats stats() const;
    /// The disk of spilled or retained steps has had no room at least once; at no cost.
    bool disk_was_full() const;
    std::string contact_path() const;
    /// What the contact file says, for readers that do not see it. It holds the key.
    std::string contact() const;

    struct State;  ///< writer_state.hpp

  private:
    Movable<State> state_;
};

}  // namespace fluvial::stage
