// SPDX-License-Identifier: Apache-2.0
/// The shared state of one stream on one host: which ranks take part, which steps are queued, and
/// which ranks still need them. Every process of the stream maps it; the mutex guards all of it
/// except the fields marked atomic.
///
/// A process may be killed between any two stores. The rules that make this harmless: a lease bit
/// is set before a reader touches a step's memory and cleared after; memory of a step is reused
/// only when no lease bit is set and no group needs the step; bits and needs of dead processes are
/// dropped by the process that notices the death (membership.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/host/alive_lock.hpp"
#include "fluvial/host/doorbell.hpp"
#include "fluvial/host/memory_file.hpp"
#include "fluvial/host/shared_lock.hpp"
#include "fluvial/stage/options.hpp"
#include "fluvial/stage/step_log.hpp"

namespace fluvial::stage {

inline constexpr int groups_max = 32;     ///< reader jobs at a time
inline constexpr int readers_max = 1024;  ///< reader ranks at a time, over all jobs
inline constexpr int slots_max = 1024;    ///< steps in memory: queued, or only viewed
inline constexpr int signatures_max =
    256;  ///< datasets of a step whose shapes are compared across ranks

/// The writer's rank of this host that serves readers on other hosts, and the one that takes them
/// over when that dies (remote_takeover.cpp).
inline constexpr int serving_rank = 0, standby_rank = 1;

enum class MemberState : std::uint32_t { Free, Joining, Active, Left };
enum class GroupState : std::uint32_t { Free, Joining, Active, Leaving, Broken, Evicted };
enum class SlotState : std::uint32_t { Free, Filling, Complete, Discarded };

/// One rank of the writing job, of those on this host.
struct alignas(64) WriterCell {
    MemberState state;
    std::uint32_t pid;
    std::uint32_t job_rank;  ///< among all ranks of the job
    std::atomic<std::int64_t> beat_ns;
    std::uint64_t steps_finished;
    /// Arena offset of the first dataset definition of this rank, 0 for none (step_record.hpp).
    std::atomic<std::uint64_t> definitions;
};

/// One rank of a reading job.
struct alignas(64) ReaderCell {
    MemberState state;
    std::uint32_t pid;
    std::uint32_t group;
    std::uint32_t rank;
    std::int64_t joined_ns;
    std::atomic<std::int64_t> beat_ns;
    std::uint64_t steps_taken;
    std::uint64_t steps_finished;
    std::uint32_t elsewhere;  ///< it is on another host, and a service here acts for it,
    std::array<unsigned char, 32> token;  ///< to which it proves itself by this
    std::uint64_t
        leases[slots_max / 64];  ///< bit s: this process may be looking at the memory of slot s
};

/// One reading job; all its ranks are given the same steps.
struct alignas(64) GroupCell {
    GroupState state;
    std::uint32_t size;
    std::uint32_t joined;
    std::uint32_t observes;         ///< looks on: nothing waits for it, and no step is kept
    std::uint32_t yields;           ///< its policy is not the writer's (yielding_groups.hpp)
    FullPolicy full;                ///< its policy, or the writer's
    std::uint64_t next_step;        ///< the group wants steps from here on
    std::uint64_t steps_taken;      ///< by the foremost rank
    std::uint64_t steps_discarded;  ///< that it would have got
    std::uint64_t next_entry;       ///< of the steps on the disk: none before is wanted
    std::uint64_t
        taken[slots_max];  ///< the n-th step given to the group, at n modulo the number of slots
    char departed[160];    ///< why it is Leaving, Broken or Evicted
};

/// What the first rank to put a dataset said of it; the others must agree.
struct Signature {
    std::uint64_t name_hash;
    std::uint64_t used_by;  ///< the step it speaks of, plus one; anything else: unused
    DType dtype;
    Coordinates shape;
    int rank;
};

/// One step in memory.
struct alignas(64) Slot {
    std::atomic<SlotState> state;
    std::atomic<std::uint64_t> step;
    std::uint32_t arrived;           ///< writer ranks that have finished it
    std::uint32_t spoiled;           ///< some rank gave it up
    std::uint32_t viewed_once;       ///< some group has taken it
    std::uint32_t spilled;           ///< all of it goes to the disk, and leaves the slot then
    std::uint32_t dropped;           ///< it was to make room, though some reader keeps it
    std::uint64_t bytes;             ///< of chunks reserved so far, over all ranks
    std::uint64_t log_begin;         ///< nothing that this step has on the disk lies before it
    std::uint64_t logged_bytes;      ///< of this step on the disk
    std::uint32_t need[groups_max];  ///< ranks of each group that have not finished with it
    std::uint32_t begun;             ///< bit g: group g has taken it
    std::uint32_t seen;              ///< bit g: a rank of group g has finished with it
};

/// Where a writer rank's record of a step lies: in its arena, and on the disk, as far as it is
/// there.
struct RecordPlace {
    std::uint64_t offset;
    std::uint64_t bytes;
    BytesOfFile logged;
};

struct Counters {
    std::uint64_t steps_begun;      ///< one past the highest step that any rank has begun
    std::uint64_t steps_completed;  ///< made available to readers
    std::uint64_t complete_end;     ///< one past the highest complete step
    std::uint64_t gone_end;         ///< one past the highest step that a late reader cannot get: it
                                    ///< has left the queue, or was discarded
    std::uint64_t steps_discarded;  ///< by policy
    std::uint64_t steps_unread;     ///< completed, but dropped or left behind without any reader
                                    ///< having begun them
    std::uint64_t steps_spoiled;    ///< given up by a rank
    std::uint64_t bytes_staged;
    std::uint64_t steps_spilled;
    std::uint64_t bytes_logged;             ///< written to the disk
    std::atomic<std::uint64_t> full_disks;  ///< times that the disk had no room
    std::uint64_t log_end;                  ///< of the data on the disk
    std::uint64_t log_freed;                ///< the data before it has been given back
    std::uint64_t entries_end;              ///< complete steps that were put on the disk ...
    std::uint64_t entries_freed;            ///< ... and that no reader will want any more
    std::uint64_t taken_end;                ///< one past the highest step that any group has begun
    std::uint64_t groups_joined;
    std::uint64_t groups_lost;
    std::uint64_t groups_evicted;
};

/// Steps of the writer's first host, where they are shared out: all that it has begun are over but
/// these (given_steps.hpp).
struct StepsElsewhere {
    std::uint64_t begun;
    std::uint32_t open_count;
    std::uint64_t open[slots_max];  ///< ascending
};

struct Failure {
    std::uint32_t set;
    char kind[32];
    char message[600];
};

struct ControlHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t writer_ranks;  ///< on this host
    std::uint32_t job_ranks;     ///< on all of them
    std::uint32_t slots;
    std::uint32_t queue_steps;
    std::uint32_t reserve;  ///< of the newest complete steps stay, for readers that come late
    std::uint64_t queue_bytes;
    FullPolicy full;
    FullPolicy on_full_disk;
    std::uint32_t retains;  ///< all steps stay on the disk
    std::uint64_t spill_bytes;
    StalledPolicy on_stalled_reader;
    StepsTo steps_to;
    std::uint32_t turn;     ///< the group that was given a step last, under StepsTo::RoundRobin
    std::uint32_t follows;  ///< the writer's first host says which group gets a step
    double stall_timeout_s;
    host::SharedMutex mutex;
    alignas(64) host::Doorbell step_bell;   ///< readers wait for it
    alignas(64) host::Doorbell space_bell;  ///< writers wait for it
    alignas(64) Counters counters;
    std::uint32_t writers_closed;
    std::uint64_t closed_elsewhere;  ///< steps that ranks on other hosts have written, all closed
    std::uint32_t readers_high;      ///< cells from here on were never used
    std::atomic<std::uint32_t> remote_readers;  ///< ranks that are served over a network
    std::atomic<std::uint32_t> service_sleeps;  ///< their service is to be woken
    std::atomic<std::uint32_t> standby_port;    ///< where another rank takes them over, should that
                                                ///< of the service die; 0: none does
    StepsElsewhere first_host;
    Failure failure;
    char name[132];
    char host[256];
};

/// Into text of the control block, which it is cut to.
template <std::size_t Size>
void store_text(char (&to)[Size], const std::string& from) {
    const std::size_t bytes = std::min(from.size(), Size - 1);
    std::memcpy(to, from.data(), bytes);
    to[bytes] = '\0';
}

/// A mapping of the control memory, with the places of its arrays.
class ControlBlock {
  public:
    static ControlBlock create(const std::string& name, const std::string& host, int writer_ranks,
                               const WriterOptions& options);
    /// Of the writer's ranks here, the place in the whole job; without this, it is all here.
    void set_job_ranks(const std::vector<int>& ranks, int job_size) const;
    int job_rank(int rank) const { return static_cast<int>(writer(rank).job_rank); }
    /// Maps what a peer sent. Throws Error when it is not a control block of this version.
    static ControlBlock adopt(host::MemoryFile file);

    ControlHeader& header() const { return *at<ControlHeader>(0); }
    WriterCell& writer(int rank) const { return at<WriterCell>(layout_.writers)[rank]; }
    ReaderCell& reader(int cell) const { return at<ReaderCell>(layout_.readers)[cell]; }
    GroupCell& group(int index) const { return at<GroupCell>(layout_.groups)[index]; }
    std::span<Slot> slots() const { return {at<Slot>(layout_.slots), header().slots}; }
    RecordPlace& record(int slot, int rank) const {
        return at<RecordPlace>(
            layout_.records)[static_cast<std::int64_t>(slot) * writer_ranks() + rank];
    }
    /// Of the step in `slot`, hashed by name: signatures_max entries.
    Signature* signatures(int slot) const {
        return at<Signature>(layout_.signatures) + static_cast<std::int64_t>(slot) * signatures_max;
    }
    int writer_ranks() const { return static_cast<int>(header().writer_ranks); }

    /// The bytes of the file whose locks say which ranks are alive.
    std::int64_t writer_lock(int rank) const { return rank; }
    std::int64_t reader_lock(int cell) const {
        return static_cast<std::int64_t>(writer_ranks()) + cell;
    }
    const host::MemoryFile& file() const { return file_; }

    /// How long a waiting process should spin: nothing is gained by it once processes share cores.
    std::int64_t spin_ns() const;

  private:
    struct Layout {
        std::size_t writers, readers, groups, slots, signatures, records, bytes;
    };
    static Layout layout_of(int writer_ranks, int slots);
    ControlBlock(host::MemoryFile file, const Layout& layout);

    template <class T>
    T* at(std::size_t offset) const {
        return reinterpret_cast<T*>(mapping_.data() + offset);
    }

    host::MemoryFile file_;
    host::Mapping mapping_;
    Layout layout_{};
};

/// Holds the mutex of a control block. Throws PeerStalled when another process was stopped while it
/// held it.
class ControlLock {
  public:
    explicit ControlLock(const ControlBlock& control) : mutex_(control.header().mutex) {
        mutex_.lock(std::max(control.header().stall_timeout_s, 1.0));
    }
    ~ControlLock() { mutex_.unlock(); }
    ControlLock(const ControlLock&) = delete;
    ControlLock& operator=(const ControlLock&) = delete;

  private:
    host::SharedMutex& mutex_;
};

inline bool has_lease(const ReaderCell& cell, int slot) {
    return ((cell.leases[slot / 64] >> (slot % 64)) & 1u) != 0;
}
inline void set_lease(ReaderCell& cell, int slot) {
    cell.leases[slot / 64] |= std::uint64_t{1} << (slot % 64);
}
inline void clear_lease(ReaderCell& cell, int slot) {
    cell.leases[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
}

}  // namespace fluvial::stage
