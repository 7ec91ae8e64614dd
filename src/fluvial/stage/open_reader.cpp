// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/joined_seat.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/neighbours.hpp"
#include "fluvial/stage/position.hpp"
#include "fluvial/stage/reader_state.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {
namespace {

/// A writer is there: an answer may still take long on a host that is overloaded.
constexpr double attach_timeout_s = 30;

/// What a reader finds under the name of a stream: a living writer, or steps that one has retained.
struct Found {
    std::optional<Contact> contact;
    std::optional<StepLog> retained;
    bool any() const { return contact || retained; }
};

Found look_for(const std::string& path, const std::string& retained, const ReaderOptions& options) {
    Found found;
    if (!options.contact.empty()) {
        found.contact = contact_from_text(options.contact);
        return found;
    }
    const auto open_retained = [&] {
        if (!is_being_retained(retained)) {
            found.retained = StepLog::open(retained);
        }
        return found.retained.has_value();
    };
    try {
        found.contact = read_contact(path);
    } catch (const StaleContact&) {
        if (!open_retained()) {
            throw;
        }
    }
    if (!found.any()) {
        open_retained();
    }
    return found;
}

/// For a contact file, of which the file system does not tell: looks 200 times a second.
class ContactWait final : public progress::Waiting {
  public:
    ContactWait(const std::string& path, const std::string& retained, const ReaderOptions& options,
                Found& found, const Deadline& deadline)
        : path_(path), retained_(retained), options_(options), found_(found), deadline_(deadline) {}
    Seen look() override {
        if (now_ns() - looked_ns_ < every_ns) {
            return Seen::Nothing;
        }
        looked_ns_ = now_ns();
        found_ = look_for(path_, retained_, options_);
        return found_.any() || deadline_.passed() ? Seen::End : Seen::Nothing;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        sleep_ns(serving ? brief_ns : every_ns);
        back_off.slept();
    }

  private:
    static constexpr long every_ns = 5'000'000;
    static constexpr long brief_ns = 100'000;
    const std::string& path_;
    const std::string& retained_;
    const ReaderOptions& options_;
    Found& found_;
    const Deadline& deadline_;
    std::int64_t looked_ns_ = 0;
};

std::string folder_of_steps(const std::string& name, const ReaderOptions& options) {
    std::string folder = options.retained;
    if (folder.empty()) {
        const std::string path = contact_path(options.directory, name);
        const auto slash = path.rfind('/');
        folder = slash == std::string::npos ? "." : path.substr(0, slash);
    }
    return retained_path(folder, name);
}

/// The writer may be about to start.
Found wait_for_writer(const std::string& path, const std::string& name,
                      const ReaderOptions& options, const Deadline& deadline) {
    Found found;
    const std::string retained = folder_of_steps(name, options);
    ContactWait waiting(path, retained, options, found, deadline);
    progress::BackOff back_off;
    progress::wait(waiting, back_off);
    if (!found.any()) {
        throw TimedOut(Problem{text("no writer opened '", name, "' within rendezvous_timeout=",
                                    options.rendezvous_timeout_s, " s"),
                               "no contact file " + path, "",
                               "Start the writer, or give both jobs the same directory"});
    }
    return found;
}

/// Which writer let rank 0 in, and to which places. The other ranks attach to the same.
struct Lead {
    std::string socket;       ///< empty: this is rank 0
    std::vector<int> groups;  ///< the reading job's number on each of the writer's hosts
    bool replay = false;      ///< the stream is over, and its steps were retained
    std::uint64_t from = 0;   ///< the first step of a job that resumes
};

Lead share(const mpi::Comm& comm, const Lead& mine) {
    ByteWriter out;
    out.put_string(mine.socket);
    out.put_vector(mine.groups);
    out.put(mine.replay);
    out.put(mine.from);
    const Bytes first = comm.bcast(out.view(), 0);
    ByteReader in(first);
    Lead lead;
    lead.socket = in.get_string();
    lead.groups = in.get_vector<int>();
    lead.replay = in.get<bool>();
    lead.from = in.get<std::uint64_t>();
    return lead;
}

std::shared_ptr<LocalSeat> take_seat(const std::string& name, Attachment attached,
                                     const ReaderOptions& options) {
    auto& sent = attached.descriptors;
    ControlBlock control = ControlBlock::adopt(host::MemoryFile::adopt(std::move(sent.at(0))));
    const ControlHeader& header = control.header();
    if (header.name != name) {
        throw Refused(Problem{text("the contact file of '", name, "' is that of another stream"),
                              text("'", std::string(header.name).substr(0, 80), "'"),
                              text("'", name, "'"),
                              "It was moved or copied: open the stream by its own name"});
    }
    const auto ranks = static_cast<std::size_t>(control.writer_ranks());
    const bool has_log = header.retains != 0 || header.full == FullPolicy::Spill;
    if (sent.size() != 1 + ranks + (has_log ? 2 : 0)) {
        throw Error(Problem{"the writer sent another number of arenas than it has ranks",
                            text(sent.size() - 1), text(ranks), ""});
    }
    std::vector<host::MemoryFile> arenas;
    for (std::size_t i = 1; i <= ranks; ++i) {
        arenas.push_back(host::MemoryFile::adopt(std::move(sent[i])));
    }
    std::optional<StepLog> log;
    if (has_log) {
        log = StepLog::adopt(std::move(sent[ranks + 1]), std::move(sent[ranks + 2]));
    }
    return make_shared_where_made<LocalSeat>(std::move(control), std::move(arenas), std::move(log),
                                             attached.reply.cell, options);
}

bool shares_memory(const Contact& contact, const ReaderOptions& options) {
    return is_on_this_host(contact) && !transport_of(options).network;
}

/// With the writer's ranks on one host.
std::shared_ptr<Seat> take_seat_on(const std::string& name, const Contact& contact,
                                   const AttachRequest& request, const ReaderOptions& options,
                                   int& group) {
    check_reachable(contact);
    const Deadline deadline(std::clamp(options.rendezvous_timeout_s, 2.5, attach_timeout_s));
    if (shares_memory(contact, options)) {
        Attachment attached = attach(contact, request, std::nullopt, deadline);
        group = attached.reply.group;
        return take_seat(name, std::move(attached), options);
    }
    auto seat = make_shared_where_made<RemoteSeat>(name, contact, request, options, deadline);
    group = seat->group();
    return seat;
}

/// With all hosts of the writer, in the groups of `lead`, which it completes.
std::shared_ptr<Seat> take_seats(const std::string& name, const Contact& contact,
                                 AttachRequest request, const ReaderOptions& options, Lead& lead) {
    std::vector<const Contact*> hosts = {&contact};
    for (const Contact& other : contact.others) {
        hosts.push_back(&other);
    }
    const std::vector<int> known = std::exchange(lead.groups, {});
    std::vector<JoinedSeat::Part> parts;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        request.group = known.empty() ? -1 : known.at(i);
        int group = -1;
        parts.push_back({take_seat_on(name, *hosts[i], request, options, group), hosts[i]->ranks});
        lead.groups.push_back(group);
    }
    return parts.size() == 1 ? parts.front().seat : std::make_shared<JoinedSeat>(std::move(parts));
}

/// A seat with the writer of the contact file: of rank 0, or that of `lead`, which it completes.
/// None: there is no writer any more, but the steps that it retained.
std::shared_ptr<Seat> take_seat_with_writer(const std::string& name, const ReaderOptions& options,
                                            AttachRequest request, Lead& lead) {
    const std::string path = contact_path(options.directory, name);
    const Deadline deadline(options.rendezvous_timeout_s);
    while (true) {
        const Found found = wait_for_writer(path, name, options, deadline);
        if (!found.contact && lead.socket.empty()) {
            lead.replay = true;
            return nullptr;
        }
        if (!lead.socket.empty() && (!found.contact || lead.socket != found.contact->socket)) {
            throw PeerLost(Problem{found.contact
                                       ? "the writer was replaced by another while this was opened"
                                       : "the writer ended while this was opened",
                                   found.contact ? text("process ", found.contact->pid) : "",
                                   "the writer that rank 0 found", "Open the stream again"});
        }
        const Contact& contact = *found.contact;
        try {
            auto seat = take_seats(name, contact, request, options, lead);
            lead.socket = contact.socket;
            return seat;
        } catch (const StaleContact&) {
            // A writer that ended in order just now took its file with it: wait for the next.
            const auto again = look_for(path, folder_of_steps(name, options), options);
            if (!lead.socket.empty() ||
                (again.contact && again.contact->socket == contact.socket)) {
                throw;
            }
        }
    }
}

/// A seat in a stream that is over: its state as this rank alone has it.
std::shared_ptr<LocalSeat> take_seat_in_replay(const std::string& name,
                                               const ReaderOptions& options, const Begin& begin) {
    const std::string path = folder_of_steps(name, options);
    auto log = StepLog::open(path);
    if (!log || log->head().name != name) {
        throw Error(Problem{text("the retained steps of '", name, "' cannot be read"),
                            log ? "steps of '" + log->head().name + "'" : "no steps in " + path,
                            "the steps that rank 0 found", "Open the stream again"});
    }
    ControlBlock control =
        ControlBlock::create(name, "", log->head().writer_ranks, WriterOptions{});
    ControlHeader& header = control.header();
    const StepLog::Extent extent = log->extent();
    header.retains = 1;
    header.writers_closed = header.writer_ranks;
    Counters& counters = header.counters;
    counters.entries_end = extent.entries;
    counters.steps_completed = extent.entries;
    counters.complete_end = extent.entries > 0 ? log->entry(extent.entries - 1).step + 1 : 0;
    if (!extent.ended) {
        fail(control, "PeerLost",
             text("the writer of '", name, "' ended without closing the stream"));
    }
    int cell = -1;
    {
        const ControlLock lock(control);
        const int group = open_group(control, 1, begin, &*log);
        cell = open_reader(control, group, 0, static_cast<std::uint32_t>(::getpid()));
    }
    return make_shared_where_made<LocalSeat>(std::move(control), std::vector<host::MemoryFile>(),
                                             std::move(log), cell, options);
}

/// The writer may be about to start: waits for the steps, beside which the position lies. None
/// where the writer is elsewhere: its host then claims it for this reader.
PositionClaim claim_position(const std::string& name, const ReaderOptions& options, int size) {
    const Deadline deadline(options.rendezvous_timeout_s);
    const Found found =
        wait_for_writer(contact_path(options.directory, name), name, options, deadline);
    if (found.contact && !shares_memory(*found.contact, options)) {
        return {};
    }
    const std::string folder = folder_of_steps(name, options);
    if (!StepLog::open(folder)) {
        throw InvalidArgument(Problem{
            text("the reader of '", name, "' cannot resume"), text("no steps in ", folder),
            "a stream that is written with retain",
            "Give the writer the option retain, and this reader the same folder by retained"});
    }
    return {folder, options.resume, size};
}

/// The folder might be that of another run.
void take_position(Reader::State& state, const mpi::Comm& comm, PositionClaim claim) {
    if (comm.rank() == 0 && claim.held() == state.seat->is_elsewhere()) {
        throw PeerLost(Problem{"the writer was replaced by another while this was opened",
                               state.transport, "the writer that was there first",
                               "Open the stream again"});
    }
    if (state.seat->is_elsewhere()) {
        return;
    }
    const std::string folder = folder_of_steps(state.name, state.options);
    if (!state.seat->retains_in(folder)) {
        throw InvalidArgument(Problem{text("the reader of '", state.name, "' cannot resume"),
                                      text("the steps in ", folder, " are of another run"),
                                      "the folder of the writer's option retain",
                                      "Give it by the option retained"});
    }
    state.position = std::make_shared<Position>(folder, state.options.resume, comm.rank(),
                                                comm.size(), std::move(claim));
}

/// The step to begin with; `step`: what the job that resumes has claimed.
Begin begin_of(const ReaderOptions& options, std::uint64_t step) {
    return options.resume.empty() ? Begin(options.start) : Begin(Start::At, step);
}

}  // namespace

std::shared_ptr<Reader::State> open_reader_state(const std::string& name, const mpi::Comm& comm,
                                                 const ReaderOptions& options) {
    auto state = make_shared_where_made<Reader::State>();
    state->name = name;
    state->options = options;
    Lead lead;
    PositionClaim claim;
    const auto attach_rank = [&] {
        AttachRequest request;
        request.rank = comm.rank();
        request.size = comm.size();
        const Begin begin = begin_of(options, lead.from);
        request.start = begin.start;
        request.from = begin.step;
        request.pid = static_cast<std::uint32_t>(::getpid());
        if (!lead.replay) {
            state->seat = take_seat_with_writer(name, options, request, lead);
        }
        if (!state->seat) {
            state->seat = take_seat_in_replay(name, options, begin);
        }
    };
    const auto say = [&](Terms& terms) {
        const char* remedy = "Give every rank the same name and options";
        terms.add("the name of the stream", exact(name), remedy);
        terms.add("the option 'start'", name_of(options.start), remedy);
        terms.add("the option 'resume'", exact(options.resume), remedy);
        terms.add("the option 'retained'", exact(options.retained), remedy);
    };
    mpi::agree_on(comm, [&] { validate(name, options); }, say);
    mpi::agree(comm, [&] {
        if (options.start == Start::Observe && comm.size() > 1) {
            throw InvalidArgument(
                Problem{"a job of several ranks cannot look on", text(comm.size(), " ranks"),
                        "one, as no step is kept until all have it",
                        "Open it on one rank without a communicator, or start with 'next'"});
        }
        if (comm.rank() == 0) {
            if (!options.resume.empty()) {
                claim = claim_position(name, options, comm.size());
                lead.from = claim.step();
            }
            attach_rank();
        }
    });
    if (comm.size() > 1) {
        lead = share(comm, lead);
        mpi::agree(comm, [&] {
            if (comm.rank() != 0) {
                attach_rank();
            }
        });
    }
    if (comm.size() > 1) {
        const bool shares = state->seat->is_elsewhere() && fetches_once(options);
        if (auto claims = share_with_neighbours(comm, shares)) {
            state->seat->share(claims, 0);
        }
    }
    state->host = state->seat->host();
    state->transport = state->seat->transport();
    mpi::agree(comm, [&] {
        state->seat->wait_for_others();
        if (!options.resume.empty()) {
            take_position(*state, comm, std::move(claim));
        }
    });
    return state;
}

}  // namespace fluvial::stage
