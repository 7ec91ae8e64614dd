// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <time.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/reader_state.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {
namespace {

/// A writer is there: an answer may still take long on a host that is overloaded.
constexpr double attach_timeout_s = 30;

/// For a contact file, of which the file system does not tell: looks 200 times a second.
class ContactWait final : public progress::Waiting {
  public:
    ContactWait(const std::string& path, std::optional<Contact>& contact, const Deadline& deadline)
        : path_(path), contact_(contact), deadline_(deadline) {}
    Seen look() override {
        if (now_ns() - looked_ns_ < every_ns) {
            return Seen::Nothing;
        }
        looked_ns_ = now_ns();
        contact_ = read_contact(path_);
        return contact_ || deadline_.passed() ? Seen::End : Seen::Nothing;
    }
    void rest(progress::BackOff& back_off, bool serving) override {
        const timespec pause{0, serving ? brief_ns : every_ns};
        ::nanosleep(&pause, nullptr);
        back_off.slept();
    }

  private:
    static constexpr long every_ns = 5'000'000;
    static constexpr long brief_ns = 100'000;
    const std::string& path_;
    std::optional<Contact>& contact_;
    const Deadline& deadline_;
    std::int64_t looked_ns_ = 0;
};

/// The writer may be about to start.
Contact wait_for_contact(const std::string& path, const std::string& name,
                         const ReaderOptions& options, const Deadline& deadline) {
    std::optional<Contact> contact;
    ContactWait waiting(path, contact, deadline);
    progress::BackOff back_off;
    progress::wait(waiting, back_off);
    if (!contact) {
        throw TimedOut(Problem{text("no writer opened '", name, "' within rendezvous_timeout=",
                                    options.rendezvous_timeout_s, " s"),
                               "no contact file " + path, "",
                               "Start the writer, or give both jobs the same directory"});
    }
    return *contact;
}

/// By which writer rank 0 was let in, and where to. The other ranks follow it.
struct Lead {
    std::string socket;  ///< empty: this is rank 0
    int group = -1;
};

Lead share(const mpi::Comm& comm, const Lead& mine) {
    ByteWriter out;
    out.put_string(mine.socket);
    out.put(mine.group);
    const Bytes first = comm.bcast(out.view(), 0);
    ByteReader in(first);
    return {in.get_string(), in.get<int>()};
}

/// Attaches to the writer of the contact file: of rank 0, or that of `lead`, which it completes.
Attachment attach_to_writer(const std::string& name, const ReaderOptions& options,
                            AttachRequest request, Lead& lead) {
    const std::string path = contact_path(options.directory, name);
    const Deadline deadline(options.rendezvous_timeout_s);
    request.group = lead.group;
    while (true) {
        const Contact contact = wait_for_contact(path, name, options, deadline);
        if (!lead.socket.empty() && lead.socket != contact.socket) {
            throw PeerLost(Problem{"the writer was replaced by another while this was opened",
                                   text("process ", contact.pid), "the writer that rank 0 found",
                                   "Open the stream again"});
        }
        try {
            Attachment attached =
                attach(contact, request, std::nullopt,
                       Deadline(std::clamp(options.rendezvous_timeout_s, 2.5, attach_timeout_s)));
            lead = {contact.socket, attached.reply.group};
            return attached;
        } catch (const StaleContact&) {
            // A writer that ended in order just now took its file with it: wait for the next.
            const auto again = read_contact(path);
            if (!lead.socket.empty() || (again && again->socket == contact.socket)) {
                throw;
            }
        }
    }
}

std::shared_ptr<Seat> take_seat(const std::string& name, Attachment attached) {
    std::vector<host::MemoryFile> arenas;
    for (std::size_t i = 1; i < attached.descriptors.size(); ++i) {
        arenas.push_back(host::MemoryFile::adopt(std::move(attached.descriptors[i])));
    }
    ControlBlock control =
        ControlBlock::adopt(host::MemoryFile::adopt(std::move(attached.descriptors.at(0))));
    if (control.header().name != name) {
        throw Refused(Problem{text("the contact file of '", name, "' is that of another stream"),
                              text("'", std::string(control.header().name).substr(0, 80), "'"),
                              text("'", name, "'"),
                              "It was moved or copied: open the stream by its own name"});
    }
    if (static_cast<int>(arenas.size()) != control.writer_ranks()) {
        throw Error(Problem{"the writer sent another number of arenas than it has ranks",
                            text(arenas.size()), text(control.writer_ranks()), ""});
    }
    return make_shared_where_made<Seat>(std::move(control), std::move(arenas), attached.reply.cell);
}

/// All ranks have a seat, or the group is not usable.
void wait_for_group(const Seat& seat, const ReaderOptions& options) {
    const ControlBlock& control = seat.control;
    const GroupCell& group = control.group(static_cast<int>(control.reader(seat.cell).group));
    const auto complete = await(
        control, control.header().space_bell, Deadline(options.rendezvous_timeout_s),
        [&]() -> std::optional<bool> {
            return group.state == GroupState::Joining ? std::nullopt : std::optional(true);
        },
        NoOtherThreads());
    if (!complete) {
        throw TimedOut(Problem{"the reader's ranks did not all attach in time",
                               text(group.joined, " of ", group.size), "",
                               "Raise rendezvous_timeout"});
    }
}

}  // namespace

Seat::Seat(ControlBlock block, std::vector<host::MemoryFile> arena_files, int cell_index)
    : control(std::move(block)),
      cell(cell_index),
      alive(control.file(), control.reader_lock(cell_index)) {
    for (const host::MemoryFile& file : arena_files) {
        arenas.push_back(file.map(host::Access::ReadOnly));
    }
    ReaderCell& mine = control.reader(cell);
    heartbeat = std::make_unique<Heartbeat>(mine.beat_ns,
                                            beat_interval_s(control.header().stall_timeout_s));
    const ControlLock lock(control);
    activate_reader(control, cell);
}

Seat::~Seat() {
    heartbeat.reset();
    try {
        const ControlLock lock(control);
        if (control.reader(cell).state == MemberState::Active) {
            leave(control, cell);
        }
        alive = {};
        vacate(control, cell);
    } catch (const Error&) {
        // A peer is stopped inside its critical section. Our alive lock goes now, and the others
        // clear up after us.
    }
}

std::shared_ptr<Reader::State> open_reader_state(const std::string& name, const mpi::Comm& comm,
                                                 const ReaderOptions& options) {
    auto state = make_shared_where_made<Reader::State>();
    state->name = name;
    state->options = options;
    Lead lead;
    const auto attach_rank = [&] {
        AttachRequest request;
        request.rank = comm.rank();
        request.size = comm.size();
        request.start = options.start;
        request.pid = static_cast<std::uint32_t>(::getpid());
        state->seat = take_seat(name, attach_to_writer(name, options, request, lead));
    };
    mpi::agree(comm, [&] {
        validate(name, options);
        if (comm.rank() == 0) {
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
    mpi::agree(comm, [&] { wait_for_group(*state->seat, options); });
    state->host = state->seat->control.header().host;
    for (int rank = 0; rank < state->seat->control.writer_ranks(); ++rank) {
        const host::Mapping& arena = state->seat->arenas[static_cast<std::size_t>(rank)];
        state->records.emplace_back(rank, arena.data(), arena.size());
    }
    return state;
}

}  // namespace fluvial::stage
