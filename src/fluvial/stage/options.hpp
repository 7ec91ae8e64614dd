// SPDX-License-Identifier: Apache-2.0
/// What a user may choose when a stream is opened; every combination that cannot work is refused
/// there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fluvial::stage {

/// What happens to a step that finds the queue full.
enum class FullPolicy : std::uint32_t {
    Block,          ///< the writer waits for the slowest reader
    DiscardNewest,  ///< the step that would not fit is not accepted
    DiscardOldest,  ///< the oldest step that no reader has begun makes room
    Spill,          ///< the step goes to a disk, from where readers get it in its turn
};

/// Which reading jobs get a step, where there are several.
enum class StepsTo : std::uint32_t {
    All,         ///< each of them
    RoundRobin,  ///< the next of them in turn
    OnDemand,    ///< the first that asks for one
};

/// What happens to a reader that is alive but gives no heartbeat (stopped, swapped out).
enum class StalledPolicy : std::uint32_t {
    Evict,  ///< it loses its place in the queue; memory that it still views is set aside until it
            ///< releases it
    Wait,   ///< the queue waits for it, up to the step time-out
};

/// Where the first step of a reader lies.
enum class Start : std::uint32_t {
    Oldest,  ///< the oldest step still queued
    Next,    ///< the next one to be completed
    First,   ///< the first of all, of a stream that is retained
    At,      ///< where a reading job that resumes has come to
    /// The newest complete one each time. The reader looks on: no step is kept for it, and the
    /// writer neither waits for it nor counts it. One process alone.
    Observe,
};

struct WriterOptions {
    std::int64_t queue_steps = 4;
    /// Of these, as many of the newest complete ones stay for readers that come late, also when
    /// others have read them; but give way when there is no room.
    std::int64_t reserve = 0;
    /// Bytes of all queued steps together, over all ranks; 0 means a quarter of the host's memory.
    std::int64_t queue_bytes = 0;
    FullPolicy full = FullPolicy::Block;
    /// What happens when the disk is full, too, under FullPolicy::Spill or with `retain`.
    FullPolicy on_full_disk = FullPolicy::Block;
    /// Where steps go that do not fit into the queue; empty: FLUVIAL_SPILL, TMPDIR or "/var/tmp".
    std::string spill{};
    /// Bytes of spilled steps on the disk; 0: as many as it has room for.
    std::int64_t spill_bytes = 0;
    /// All steps stay on a disk, in the folder NAME.steps of this one; empty: they do not.
    std::string retain{};
    StepsTo steps_to = StepsTo::All;
    StalledPolicy on_stalled_reader = StalledPolicy::Evict;
    /// Reader jobs that open() waits for.
    int readers = 1;
    std::string
        directory{};  ///< of the contact file; empty: FLUVIAL_DIRECTORY, XDG_RUNTIME_DIR or "."
    double rendezvous_timeout_s = 60;
    double step_timeout_s = 300;
    double stall_timeout_s = 10;
    /// Where readers on other hosts may connect: "auto", "off", or interfaces as
    /// move/network.hpp has them; empty: FLUVIAL_NETWORK or "auto".
    std::string network{};
    /// "40000-40100"; empty: FLUVIAL_PORTS, or any that is free.
    std::string ports{};
    /// Data, too, is encrypted on its way to other hosts; what is said about it always is.
    bool encrypt = false;
};

struct ReaderOptions {
    Start start = Start::Oldest;
    /// What happens to this reader's steps when the queue is full because of it; none: as the
    /// writer says. DiscardOldest and DiscardNewest: it loses steps rather than that the writer
    /// waits for it, or other readers lose any. Spill, where the writer retains its steps: it reads
    /// them from the disk. Block, only where the writer blocks: it cannot be made to wait.
    std::optional<FullPolicy> full{};
    /// The name under which a retained stream remembers how far this reading job has come; it goes
    /// on there. Empty: nothing is remembered.
    std::string resume{};
    /// The folder in which the writer retains its steps; empty: `directory`.
    std::string retained{};
    std::string directory{};
    double rendezvous_timeout_s = 60;
    double step_timeout_s = 300;
    double stall_timeout_s = 10;
    /// "auto": shared memory where the writer is on this host, and TCP where it is not; "tcp": in
    /// any case; "libfabric", "libfabric:PROVIDER": that reads what does not come by itself;
    /// empty: FLUVIAL_TRANSPORT or "auto".
    std::string transport{};
    /// By which of this host's interfaces a writer elsewhere is reached: "auto", all of them, and
    /// data over several at a time where that is faster; "one": all of them, one at a time; or
    /// names, addresses or networks as move/rails.hpp has them; empty: FLUVIAL_INTERFACES or
    /// "auto".
    std::string interfaces{};
    /// What several ranks of this job on one host want of a step that is elsewhere: "once", one of
    /// them brings it for all; "each", every rank for itself; empty: FLUVIAL_FETCH or "once".
    std::string fetch{};
    /// What Writer::contact() said, in the place of a contact file; or "HOST:PORT", where a writer
    /// with the same FLUVIAL_KEY gives it, as it does where a name is "fluvial://HOST:PORT/NAME".
    std::string contact{};
};

/// Throw InvalidArgument that names the option, its value and what is allowed.
void validate(const std::string& name, const WriterOptions& options);
void validate(const std::string& name, const ReaderOptions& options);

/// "block", or "spill,block": what happens when the queue is full, and then when the disk is.
struct FullPolicies {
    FullPolicy queue = FullPolicy::Block;
    FullPolicy disk = FullPolicy::Block;
};
FullPolicies full_policies_from_name(const std::string& name);
/// Of ReaderOptions::full; empty: none. What follows a comma is the writer's alone.
std::optional<FullPolicy> full_of_reader_from_name(const std::string& name);
std::string name_of(FullPolicy policy);
StepsTo steps_to_from_name(const std::string& name);
std::string name_of(StepsTo to);
StalledPolicy stalled_policy_from_name(const std::string& name);
std::string name_of(StalledPolicy policy);
Start start_from_name(const std::string& name);
std::string name_of(Start start);

/// "FOLDER/NAME.steps", or "FOLDER/NAME.steps.HOST" for the second of the writer's hosts and on.
std::string retained_path(const std::string& folder, const std::string& name, int host = 0);
/// Of ReaderOptions::resume. Throws InvalidArgument.
void check_position_name(const std::string& name);

/// Of a reader's policy: it loses steps.
inline bool discards(std::optional<FullPolicy> full) {
    return full == FullPolicy::DiscardNewest || full == FullPolicy::DiscardOldest;
}

/// `options.spill`, or the default in its place.
std::string effective_spill(const WriterOptions& options);

/// The same of network, ports and transport.
std::string effective_network(const WriterOptions& options);
std::string effective_ports(const WriterOptions& options);
struct TransportChoice {
    bool network = false;  ///< also where memory could be shared
    bool libfabric = false;
    std::string provider{};  ///< of libfabric; empty: the best there is
};
TransportChoice transport_of(const ReaderOptions& options);
std::string effective_interfaces(const ReaderOptions& options);
bool fetches_once(const ReaderOptions& options);

/// `options.queue_bytes`, or the default in its place.
std::int64_t effective_queue_bytes(const WriterOptions& options);

inline constexpr int queue_steps_max = 512;
/// 8 TiB: every rank reserves a multiple of it as address space, of which a process has 128 TiB.
inline constexpr std::int64_t queue_bytes_max = std::int64_t{1} << 43;

}  // namespace fluvial::stage
