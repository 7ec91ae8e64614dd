// SPDX-License-Identifier: Apache-2.0
/// A reader rank's place in a stream, by whichever way it reaches the writer: through shared memory
/// (local_seat.hpp), or over a network (remote_seat.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/describe/series.hpp"
#include "fluvial/stage/handle_lock.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/step_decoder.hpp"
#include "fluvial/stage/step_record.hpp"

namespace fluvial::move {
class SharedClaims;
}

namespace fluvial::stage {

/// A box of a chunk, in the chunk's own coordinates.
struct ChunkBox {
    const Chunk* chunk;
    Region box;
    std::byte* to;  ///< contiguous memory for its elements, in row-major order
};

/// A step that a seat has handed out. Its place in the queue is taken until finish(), its memory
/// until the last owner of this object is gone.
class StepAccess {
  public:
    virtual ~StepAccess() = default;
    /// Memory with all bytes of a chunk that is not in memory here; `what` names it in errors.
    /// Throws DamagedFile, PeerLost, PeerStalled.
    virtual std::shared_ptr<const std::byte> load(const Chunk& chunk, DType dtype,
                                                  const std::string& what) = 0;
    /// A chunk that is in memory here came over a network, with the step.
    virtual bool came_along(const Chunk&) const { return false; }
    /// Bytes of a chunk that came so, `box` of it among them; 0: that box did not.
    virtual std::uint64_t bytes_along(const Chunk&, const Region& /*box*/, DType) const {
        return 0;
    }
    /// Parts of a chunk can be had for less than the whole.
    virtual bool reads_parts() const { return false; }
    /// Reads all `boxes` at once, where reads_parts(). Throws as load().
    virtual void read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string& what);
    /// The reading job has got what it wanted of the step, which is finished next.
    virtual void was_read() {}
    /// The reader has finished with the step. Once, by the object that opened it.
    virtual void finish() = 0;
    /// The same, and the step's memory is not looked at any more: this object goes next.
    virtual void finish_and_release() { finish(); }
    /// The seat is left next, and nobody has seen the step: where steps are shared out, another job
    /// gets it.
    virtual void abandon() {}
    /// In a child process: nothing may be done with it.
    virtual bool inherited() const = 0;
};

struct OpenedStep {
    std::uint64_t index = 0;
    bool from_disk = false;
    StepDescription description;
    std::shared_ptr<StepForm> form;  ///< to which the description is given back; may be none
    std::shared_ptr<StepAccess> access;
};

void check_writer_rank(int rank, int ranks);

struct SeatStats {
    std::uint64_t steps_taken;
    std::uint64_t steps_discarded;
    int queue_depth;
    std::uint64_t lag_steps;  ///< complete steps from a given one on
};

/// What next() throws when its time is up. `others_lag`: there are steps, but other ranks of this
/// reader are too far behind (Taken::others_lag).
TimedOut no_step_in_time(const std::string& name, double step_timeout_s, bool others_lag);

class Seat {
  public:
    virtual ~Seat() = default;
    /// Waits until all ranks of the reader have a seat, or the reader is not usable. Throws
    /// TimedOut.
    virtual void wait_for_others() = 0;
    /// What a step that ends says is followed by next() at once, and may be sent with it.
    virtual void next_follows() {}
    /// The next step; none at the end of the stream. `given`: the step that the writer's first host
    /// has given to this job, with another host, which may not have it (given_steps.hpp); none
    /// then, too. The deadline is that of step_timeout. Throws as Reader::next.
    virtual std::optional<OpenedStep> next(HandleLock::Call& call, const Deadline& deadline,
                                           std::optional<std::uint64_t> given) = 0;
    std::optional<OpenedStep> next(HandleLock::Call& call, const Deadline& deadline) {
        return next(call, deadline, std::nullopt);
    }
    /// For a thread that waits for another seat's step: throws what would end a wait for one here.
    virtual void look_for_failure() = 0;
    /// Steps are shared out here, and this job gets some of them.
    virtual bool shares_out() const = 0;
    /// As of the latest step.
    virtual SeriesDescription series() = 0;
    virtual SeatStats stats(std::uint64_t next_index) const = 0;
    virtual StreamStatus status() = 0;
    virtual bool disk_was_full() const = 0;
    virtual std::string host() const = 0;  ///< of the writer's first rank
    /// Of one rank of the writer. Throws OutOfBounds; for a writer on another host only for numbers
    /// below 0, because what came from there does not say how many ranks it has.
    virtual std::string host_of(int rank) const {
        check_writer_rank(rank, std::numeric_limits<int>::max());
        return host();
    }
    /// How data comes from there: "shared memory", "tcp".
    virtual std::string transport() const = 0;
    /// What came over a network so far, by interface of this host.
    virtual std::map<std::string, std::uint64_t> bytes_by_interface() const { return {}; }
    /// Some data comes over a network.
    virtual bool is_elsewhere() const { return false; }
    /// From now on what is read is shared with other ranks of this host; `host`: which of the
    /// writer's this seat is with.
    virtual void share(const std::shared_ptr<move::SharedClaims>&, std::uint32_t) {}
    /// What these have brought, of what was read.
    virtual std::uint64_t bytes_from_neighbours() const { return 0; }
    /// A thread that waits in next() looks around.
    virtual void wake() = 0;
    /// No further steps; the step that is open was finished before.
    virtual void leave() = 0;
};

}  // namespace fluvial::stage
