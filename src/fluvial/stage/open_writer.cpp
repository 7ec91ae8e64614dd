// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/waiting.hpp"
#include "fluvial/stage/writer_state.hpp"

namespace fluvial::stage {
namespace {

constexpr double attach_timeout_s = 30;
/// Room in a rank's address space for the queue, for steps that only views keep, and for fragments.
constexpr std::uint64_t arena_queues = 4;
constexpr std::uint64_t arena_extra_bytes = std::uint64_t{64} << 20;

std::string fingerprint(const std::string& name, const WriterOptions& o) {
    return text(name, "|", o.queue_steps, "|", o.queue_bytes, "|", static_cast<int>(o.full), "|",
                static_cast<int>(o.on_full_disk), "|", static_cast<int>(o.steps_to), "|", o.spill,
                "|", o.spill_bytes, "|", o.retain, "|", static_cast<int>(o.on_stalled_reader), "|",
                o.readers, "|", o.step_timeout_s, "|", o.stall_timeout_s);
}

Bytes encode_contact(const Contact& contact) {
    ByteWriter out;
    out.put_string(contact.host);
    out.put_string(contact.boot_id);
    out.put_string(contact.network_namespace);
    out.put<std::int32_t>(contact.pid);
    out.put_string(contact.socket);
    out.put(contact.key);
    return out.take();
}

Contact decode_contact(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    Contact contact;
    contact.host = in.get_string();
    contact.boot_id = in.get_string();
    contact.network_namespace = in.get_string();
    contact.pid = in.get<std::int32_t>();
    contact.socket = in.get_string();
    contact.key = in.get<Key>();
    return contact;
}

/// Options are valid and the same everywhere, and all ranks share memory.
void check_together(const std::string& name, const mpi::Comm& comm, const WriterOptions& options) {
    const progress::Setup setup;
    const std::string mine = fingerprint(name, options);
    const Bytes first = comm.bcast(std::as_bytes(std::span(mine)), 0);
    const std::string expected(reinterpret_cast<const char*>(first.data()), first.size());
    const int here = comm.ranks_on_this_host();
    mpi::agree(comm, [&] {
        validate(name, options);
        if (mine != expected) {
            throw InvalidArgument(Problem{"the ranks opened the stream with different options",
                                          mine, expected + ", as on rank 0",
                                          "Give every rank the same name and options"});
        }
        if (here != comm.size()) {
            throw Error(Problem{"the writer's ranks are on several hosts",
                                text(here, " of ", comm.size(), " on this one"),
                                "one host: this version stages through shared memory only",
                                "Run the writer within one host, or open one stream a host"});
        }
    });
}

bool has_log(const WriterOptions& options) {
    return options.full == FullPolicy::Spill || !options.retain.empty();
}

void open_log(Writer::State& state, int ranks) {
    const LogHead head{state.name, ranks};
    if (!state.options.retain.empty()) {
        const std::string path = retained_path(state.options.retain, state.name);
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

}  // namespace

std::shared_ptr<Writer::State> open_writer(const std::string& name, const mpi::Comm& comm,
                                           const WriterOptions& options) {
    check_together(name, comm, options);
    auto state = make_shared_where_made<Writer::State>();
    state->name = name;
    state->options = options;
    state->rank = comm.rank();
    state->path = contact_path(options.directory, name);
    const auto queue_bytes = static_cast<std::uint64_t>(effective_queue_bytes(options));
    Contact contact;
    mpi::agree(comm, [&] {
        state->arena =
            std::make_shared<Arena>(text("arena-", name, "-", comm.rank()),
                                    arena_queues * queue_bytes + arena_extra_bytes, queue_bytes);
        contact = new_contact();
        if (comm.rank() == 0) {
            open_log(*state, comm.size());
            state->control = ControlBlock::create(name, contact.host, comm.size(), options);
            state->service =
                std::make_unique<HostService>(contact, *state->control, state->arena->file(),
                                              state->log ? &*state->log : nullptr);
        }
    });
    contact = decode_contact(comm.bcast(encode_contact(contact), 0));
    mpi::agree(comm, [&] {
        if (comm.rank() != 0) {
            const AttachRequest request{
                Role::WriterRank, comm.rank(), comm.size(), -1, Start::Oldest, 0, 0};
            Attachment attached = attach(contact, request, state->arena->file().descriptor(),
                                         Deadline(attach_timeout_s));
            state->control =
                ControlBlock::adopt(host::MemoryFile::adopt(std::move(attached.descriptors.at(0))));
            if (has_log(options)) {
                state->log = StepLog::adopt(std::move(attached.descriptors.at(1)),
                                            std::move(attached.descriptors.at(2)));
            }
        }
        join(*state, state->control->writer(comm.rank()));
    });
    mpi::agree(comm, [&] {
        if (comm.rank() == 0) {
            state->published = std::make_unique<PublishedContact>(state->path, contact);
        }
    });
    mpi::agree(comm, [&] { wait_for_readers(*state); });
    return state;
}

}  // namespace fluvial::stage
