// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <span>
#include <utility>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/core_set.hpp"
#include "fluvial/move/host_name.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/given_steps.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/shared_key.hpp"
#include "fluvial/stage/waiting.hpp"
#include "fluvial/stage/writer_state.hpp"

namespace fluvial::stage {
namespace {

/// Room in a rank's address space for the queue, for steps that only views keep, and for fragments.
constexpr std::uint64_t arena_queues = 4;
constexpr std::uint64_t arena_extra_bytes = std::uint64_t{64} << 20;

/// What all ranks must say alike; where the contact file lies and how long to wait for readers is
/// the lowest rank's alone to say.
void add_terms(const std::string& name, const WriterOptions& o, Terms& terms) {
    const char* remedy = "Give every rank the same name and options";
    const auto add = [&](const char* option, const std::string& value) {
        terms.add(text("the option '", option, "' of the stream '", name, "'"), value, remedy);
    };
    terms.add("the name of the stream", exact(name), remedy);
    add("queue_steps", exact(o.queue_steps));
    add("reserve", exact(o.reserve));
    add("queue_bytes", exact(o.queue_bytes));
    add("full", name_of(o.full));
    add("full, on a full disk,", name_of(o.on_full_disk));
    add("steps_to", name_of(o.steps_to));
    add("spill", exact(o.spill));
    add("spill_bytes", exact(o.spill_bytes));
    add("retain", exact(o.retain));
    add("on_stalled_reader", name_of(o.on_stalled_reader));
    add("readers", exact(o.readers));
    add("step_timeout", exact(o.step_timeout_s));
    add("stall_timeout", exact(o.stall_timeout_s));
    add("network", exact(effective_network(o)));
    add("ports", exact(effective_ports(o)));
    add("encrypt", exact(o.encrypt));
}

/// What ranks that share no memory cannot do together, yet.
void check_several_hosts(const WriterOptions& options, int here, int ranks) {
    const std::string seen = text(here, " of ", ranks, " ranks on this one");
    if (effective_network(options) == "off") {
        throw InvalidArgument(
            Problem{"the writer's ranks are on several hosts, and have no network", seen,
                    "network='auto', or an interface",
                    "Leave network='off' out, or run the writer on one host"});
    }
}

/// Options are valid and the same everywhere. True when all ranks share memory.
bool check_together(const std::string& name, const mpi::Comm& comm, const WriterOptions& options) {
    const progress::Setup setup;
    const int here = comm.ranks_on_this_host();
    const auto check = [&] {
        validate(name, options);
        if (here != comm.size()) {
            check_several_hosts(options, here, comm.size());
        }
    };
    mpi::agree_on(comm, check, [&](Terms& terms) { add_terms(name, options, terms); });
    return here == comm.size();
}

bool has_log(const WriterOptions& options) {
    return options.full == FullPolicy::Spill || !options.retain.empty();
}

void open_log(Writer::State& state, const LogHead& head) {
    if (!state.options.retain.empty()) {
        const std::string path = retained_path(state.options.retain, state.name, head.host);
        state.retaining = lock_retained(path);
        state.log = StepLog::create(path, head);
    } else if (state.options.full == FullPolicy::Spill) {
        state.log = StepLog::unnamed(effective_spill(state.options), head);
    }
}

void join(Writer::State& state, WriterCell& cell) {
    state.alive.emplace(state.control->file(), state.control->writer_lock(state.rank));
    cell.pid = static_cast<std::uint32_t>(::getpid());
    cell.beat_ns.store(now_ns());
    state.heartbeat =
        std::make_unique<Heartbeat>(cell.beat_ns, beat_interval_s(state.options.stall_timeout_s));
    state.records = std::make_unique<RecordWriter>(*state.arena, cell);
    const ControlLock lock(*state.control);
    cell.state = MemberState::Active;
}

/// The ranks that share memory with this one.
class HostRanks {
  public:
    HostRanks(const mpi::Comm& comm, bool all) : all_(comm) {
        if (!all) {
            some_ = comm.split_by_host();
        }
        ranks_ = this->comm().allgather_values(comm.rank());
        std::set<int> firsts{ranks_.front()};
        if (!all) {
            const std::vector<int> said = comm.allgather_values(ranks_.front());
            firsts.insert(said.begin(), said.end());
        }
        hosts_ = static_cast<int>(firsts.size());
        host_ = static_cast<int>(std::distance(firsts.begin(), firsts.find(ranks_.front())));
    }
    ~HostRanks() {
        if (some_) {
            some_->abandon();
        }
    }
    HostRanks(const HostRanks&) = delete;
    HostRanks& operator=(const HostRanks&) = delete;
    /// Collective.
    void close() {
        if (some_) {
            some_->close();
            some_.reset();
        }
    }
    const mpi::Comm& comm() const { return some_ ? *some_ : all_; }
    const std::vector<int>& ranks() const { return ranks_; }
    /// Of all hosts, in the order of their first ranks.
    int host() const { return host_; }
    int hosts() const { return hosts_; }

  private:
    const mpi::Comm& all_;
    std::optional<mpi::Comm> some_;
    std::vector<int> ranks_;  ///< among all
    int host_ = 0;
    int hosts_ = 1;
};

/// What rank 0 draws for all.
struct Drawn {
    Key key{};
    std::uint64_t run = 0;
};

Drawn draw(const std::string& name, const mpi::Comm& comm) {
    Drawn drawn{new_contact().key, 0};
    mpi::agree(comm, [&] {
        if (const auto shared = comm.rank() == 0 ? shared_key(name) : std::nullopt) {
            drawn.key = *shared;
        }
    });
    std::random_device random;
    drawn.run = std::uint64_t{random()} << 32 | random();
    const Bytes first = comm.bcast(std::as_bytes(std::span(&drawn, 1)), 0);
    std::memcpy(&drawn, first.data(), sizeof drawn);
    return drawn;
}

void attach_to_host(Writer::State& state, const Contact& contact) {
    const AttachRequest request{.role = Role::WriterRank, .rank = state.rank};
    Attachment attached =
        attach(contact, request, state.arena->file().descriptor(), Deadline(attach_timeout_s));
    state.control =
        ControlBlock::adopt(host::MemoryFile::adopt(std::move(attached.descriptors.at(0))));
    state.step_event.emplace(std::move(attached.descriptors.at(1)));
    if (has_log(state.options)) {
        state.log = StepLog::adopt(std::move(attached.descriptors.at(2)),
                                   std::move(attached.descriptors.at(3)));
    }
    if (!state.options.retain.empty()) {
        state.retaining =
            share_retained(retained_path(state.options.retain, state.name, state.log->head().host));
    }
}

/// How hosts elsewhere may know this one, should its addresses not be what they are here.
std::vector<move::Endpoint> by_name(const Contact& contact) {
    const bool reachable = !std::ranges::all_of(
        contact.endpoints, [](const auto& one) { return move::is_loopback(one.address); });
    if (!reachable || !move::is_host_name(contact.host) || contact.host == "localhost") {
        return {};
    }
    return {{contact.host, contact.endpoints.front().port}};
}

/// On the first rank of each host, once all of that host have attached, whose cores are `taken`.
void serve_other_hosts(Writer::State& state, Contact& contact, int host, const cpu_set_t& taken) {
    const auto interfaces = move::interfaces_of(effective_network(state.options));
    if (interfaces.listen_on.empty()) {
        return;
    }
    std::string retained;
    if (!state.options.retain.empty()) {  // wherever this process goes
        retained = std::filesystem::absolute(retained_path(state.options.retain, state.name, host));
    }
    StreamMemory memory{&*state.control, state.log ? &*state.log : nullptr,
                        state.service->map_arenas(), state.options.encrypt, std::move(retained)};
    state.remote = std::make_unique<RemoteService>(contact.key, std::move(memory), interfaces,
                                                   move::ports_of(effective_ports(state.options)),
                                                   *state.step_event);
    state.remote->place(taken);
    contact.endpoints = state.remote->endpoints();
    contact.names = by_name(contact);
}

/// On the second rank of each host, once the first one serves. Where it lacks a port, or
/// descriptors, none stands by; nor does one for steps on a disk, where readers find them anyway.
void stand_by(Writer::State& state, const Contact& contact, const cpu_set_t& taken) {
    const auto interfaces = move::interfaces_of(effective_network(state.options));
    if (interfaces.listen_on.empty() || state.log) {
        return;
    }
    try {
        const AttachRequest request{.role = Role::Standby, .rank = state.rank};
        Attachment attached = attach(contact, request, std::nullopt, Deadline(attach_timeout_s));
        std::vector<host::Mapping> arenas;
        for (auto& arena : std::span(attached.descriptors).subspan(1)) {
            arenas.push_back(host::MemoryFile::adopt(std::move(arena)).map(host::Access::ReadOnly));
        }
        StreamMemory memory{&*state.control, nullptr, std::move(arenas), state.options.encrypt};
        state.remote =
            std::make_unique<RemoteService>(contact.key, std::move(memory), interfaces,
                                            move::ports_of(effective_ports(state.options)),
                                            *state.step_event, RemoteService::Duty::StandsBy);
    } catch (const SystemError&) {
        return;
    }
    state.remote->place(taken);
    state.remote->stand_by();
}

/// Where the ranks of a host run. Collective.
cpu_set_t cores_of_all(const mpi::Comm& ranks) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const cpu_set_t& cores : ranks.allgather_values(host::cores_of_this_process())) {
        CPU_OR(&all, &all, &cores);
    }
    return all;
}

/// The ranks of one host open their part of the stream: queue, memory, and the ways to it.
/// Collective over `host`, and over `comm` as for errors.
Contact open_on_host(Writer::State& state, const mpi::Comm& comm, const HostRanks& ranks,
                     const Drawn& drawn) {
    const WriterOptions& options = state.options;
    const mpi::Comm& host = ranks.comm();
    const auto queue_bytes = static_cast<std::uint64_t>(effective_queue_bytes(options));
    Contact contact;
    mpi::agree(comm, [&] {
        state.arena =
            std::make_shared<Arena>(text("arena-", state.name, "-", comm.rank()),
                                    arena_queues * queue_bytes + arena_extra_bytes, queue_bytes);
        contact = new_contact();
        contact.key = drawn.key;
        contact.ranks = ranks.ranks();
        if (host.rank() == 0) {
            open_log(state, {state.name, ranks.ranks(), ranks.host(), ranks.hosts(), drawn.run});
            state.control = ControlBlock::create(state.name, contact.host, host.size(), options);
            state.control->set_job_ranks(ranks.ranks(), comm.size());
            if (ranks.host() != 0) {
                follow_first_host(*state.control);
            }
            state.step_event.emplace();
            state.service = std::make_unique<HostService>(
                contact, *state.control, state.arena->file(), state.log ? &*state.log : nullptr,
                &*state.step_event);
        }
    });
    contact = decode_contact(host.bcast(encode_contact(contact), 0));
    mpi::agree(comm, [&] {
        if (host.rank() != 0) {
            attach_to_host(state, contact);
        }
        join(state, state.control->writer(state.rank));
    });
    const cpu_set_t taken = cores_of_all(host);
    mpi::agree(comm, [&] {
        if (host.rank() == 0) {
            serve_other_hosts(state, contact, ranks.host(), taken);
        }
    });
    mpi::agree(comm, [&] {
        if (host.rank() == standby_rank) {
            stand_by(state, contact, taken);
        }
    });
    return contact;
}

/// The contact of the whole writer, of what the first rank of each host has. On every rank;
/// collective.
Contact contact_of_all(const mpi::Comm& comm, const mpi::Comm& host, const Contact& mine) {
    const Bytes said = host.rank() == 0 ? encode_contact(mine) : Bytes();
    std::optional<Contact> all;
    for (const auto& one : comm.allgather(said)) {
        if (one.empty()) {
            continue;
        }
        if (!all) {
            all = decode_contact(one);
        } else {
            all->others.push_back(decode_contact(one));
        }
    }
    return *all;
}

void wait_for_readers(const Writer::State& state) {
    const ControlBlock& control = *state.control;
    const auto wanted = static_cast<std::uint64_t>(state.options.readers);
    const auto joined = await(
        control, control.header().space_bell, Deadline(state.options.rendezvous_timeout_s),
        [&]() -> std::optional<bool> {
            state.check_failure();
            const bool all_here = control.header().counters.groups_joined >= wanted;
            return all_here ? std::optional(true) : std::nullopt;
        },
        NoOtherThreads());
    if (!joined) {
        throw TimedOut(
            Problem{text("too few readers attached to '", state.name,
                         "' within rendezvous_timeout=", state.options.rendezvous_timeout_s, " s"),
                    text(control.header().counters.groups_joined, " reader jobs"),
                    text(wanted, " (option readers)"),
                    text("Start the reader with this contact file: ", state.path,
                         "; or pass readers=0 to write without waiting")});
    }
}

/// All but what is this rank's alone. Collective.
void open_together(Writer::State& state, const mpi::Comm& comm, HostRanks& host, bool one_host) {
    const Contact mine = open_on_host(state, comm, host, draw(state.name, comm));
    const Contact all = one_host ? mine : contact_of_all(comm, host.comm(), mine);
    state.contact = format_contact(all);
    mpi::agree(comm, [&] {
        if (state.remote && host.comm().rank() == serving_rank && comm.rank() != 0) {
            state.remote->follow(all);
        }
        if (comm.rank() == 0) {
            state.published = std::make_unique<PublishedContact>(state.path, all);
            if (state.remote) {
                state.remote->serve_contact(state.contact);
            }
        }
    });
    host.close();
    mpi::agree(comm, [&] { wait_for_readers(state); });
}

}  // namespace

std::shared_ptr<Writer::State> open_writer(const std::string& name, const mpi::Comm& comm,
                                           const WriterOptions& options) {
    const bool one_host = check_together(name, comm, options);
    auto state = make_shared_where_made<Writer::State>();
    state->name = name;
    state->options = options;
    state->path = contact_path(options.directory, name);
    HostRanks host(comm, one_host);
    state->rank = host.comm().rank();
    try {
        open_together(*state, comm, host, one_host);
    } catch (...) {
        if (state->log) {  // so that the next run finds none; of the first rank, which made it
            state->log->remove();
        }
        throw;
    }
    return state;
}

}  // namespace fluvial::stage
