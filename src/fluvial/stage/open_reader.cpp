// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/found_writer.hpp"
#include "fluvial/stage/handshake.hpp"
#include "fluvial/stage/joined_seat.hpp"
#include "fluvial/stage/local_seat.hpp"
#include "fluvial/stage/neighbours.hpp"
#include "fluvial/stage/reader_state.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/retained_steps.hpp"
#include "fluvial/stage/served_contact.hpp"
#include "fluvial/stage/step_queue.hpp"
#include "fluvial/stage/waiting.hpp"

namespace fluvial::stage {
namespace {

/// Which writer let rank 0 in, and to which places. The other ranks attach to the same.
struct Lead {
    std::optional<Contact> writer;    ///< none: this is rank 0, or the stream is over
    std::vector<int> groups;          ///< the reading job's number on each of the writer's hosts
    bool replay = false;              ///< the stream is over, and its steps were retained
    std::vector<std::uint64_t> from;  ///< on each host, the first step of a job that resumes
};

Lead share(const mpi::Comm& comm, const Lead& mine) {
    ByteWriter out;
    out.put_vector(mine.writer ? encode_contact(*mine.writer) : Bytes());
    out.put_vector(mine.groups);
    out.put(mine.replay);
    out.put_vector(mine.from);
    const Bytes first = comm.bcast(out.view(), 0);
    ByteReader in(first);
    Lead lead;
    if (const auto writer = in.get_vector<std::byte>(); !writer.empty()) {
        lead.writer = decode_contact(writer);
    }
    lead.groups = in.get_vector<int>();
    lead.replay = in.get<bool>();
    lead.from = in.get_vector<std::uint64_t>();
    return lead;
}

std::shared_ptr<LocalSeat> local_seat(const std::string& name, Attachment attached,
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

/// How one rank of a reading job takes its seat.
class Attaching {
  public:
    Attaching(const std::string& name, const mpi::Comm& comm, const ReaderOptions& options)
        : name_(name), own_{comm.rank(), comm.size()}, options_(options) {}

    std::shared_ptr<Seat> take_seat() {
        if (lead.writer) {
            return take_seat_beside_first();
        }
        if (!lead.replay) {
            if (auto seat = take_seat_with_writer()) {
                return seat;
            }
        }
        std::vector<Begin> begins;
        for (std::size_t host = 0; host < std::max<std::size_t>(1, lead.from.size()); ++host) {
            begins.push_back(begin_on(host));
        }
        return take_seat_in_replay(name_, options_, begins, own_, std::move(claims_));
    }

    Lead lead;

  private:
    bool resumes() const { return !options_.resume.empty(); }
    Begin begin_on(std::size_t host) const {
        if (!resumes()) {
            return options_.start;
        }
        return {Start::At, host < lead.from.size() ? lead.from[host] : 0};
    }

    /// With the writer's ranks on one host.
    JoinedSeat::Part take_seat_on(const Contact& contact, std::size_t host, int known,
                                  const std::function<bool()>& again) {
        const Begin begin = begin_on(host);
        const AttachRequest request{
            .role = Role::ReaderRank,
            .rank = own_.rank,
            .size = own_.size,
            .group = known,
            .start = begin.start,
            .pid = static_cast<std::uint32_t>(::getpid()),
            .from = begin.step,
            .full = number_of(options_.full),
        };
        check_reachable(contact);
        if (shares_memory(contact, options_)) {
            Attachment attached = attach(contact, request, std::nullopt, time_to_attach());
            const std::uint64_t from = attached.reply.from;
            lead.groups.push_back(attached.reply.group);
            auto seat = local_seat(name_, std::move(attached), options_);
            if (resumes()) {
                keep_position(*seat, name_, options_, static_cast<int>(host), own_,
                              claims_.empty() ? PositionClaim() : std::move(claims_.at(host)));
            }
            return {std::move(seat), contact.ranks, from};
        }
        auto seat = take_seat_elsewhere(contact, request, again);
        lead.groups.push_back(seat->group());
        const std::uint64_t from = seat->from();
        return {std::move(seat), contact.ranks, from};
    }

    Deadline time_to_attach() const {
        return Deadline(std::clamp(options_.rendezvous_timeout_s, 2.5, attach_timeout_s));
    }

    /// On another host, which is asked again where the network has lost what was said: an outage
    /// may be short. A place that it gave in vain is free when it learns that the connection ended.
    std::shared_ptr<RemoteSeat> take_seat_elsewhere(const Contact& contact,
                                                    const AttachRequest& request,
                                                    const std::function<bool()>& again) const {
        constexpr int mute_max = 3;  // times in a row: it is the process, and not the network
        int mute = 0;
        while (true) {
            try {
                return make_shared_where_made<RemoteSeat>(name_, contact, request, options_,
                                                          time_to_attach());
            } catch (const MayPass& passing) {
                mute = passing.connected ? mute + 1 : 0;
                if (mute == mute_max || !again()) {
                    throw;
                }
            }
            wait_for_room();
        }
    }

    /// With all hosts of the writer, in the groups of `lead`, which it completes.
    std::shared_ptr<Seat> take_seats(const Contact& contact, const Deadline& rendezvous) {
        const std::vector<int> known = std::exchange(lead.groups, {});
        const auto again = [&] {
            return !rendezvous.passed() && (own_.rank != 0 || is_there(contact));
        };
        std::vector<JoinedSeat::Part> parts;
        for (const Contact* const host : hosts_of(contact)) {
            const std::size_t number = parts.size();
            const int group = known.empty() ? -1 : known.at(number);
            parts.push_back(take_seat_on(*host, number, group, again));
        }
        return parts.size() == 1 ? parts.front().seat
                                 : std::make_shared<JoinedSeat>(std::move(parts));
    }

    /// On rank 0, of a job that resumes.
    void claim(const std::optional<Contact>& writer) {
        claims_.clear();
        lead.from.clear();
        claims_ = claim_positions(name_, options_, writer, own_.size);
        for (const PositionClaim& claim : claims_) {
            lead.from.push_back(claim.step());
        }
    }

    /// On rank 0, with the writer of the contact file. None: there is no writer any more, but the
    /// steps that it retained.
    std::shared_ptr<Seat> take_seat_with_writer() {
        const Deadline deadline(options_.rendezvous_timeout_s);
        while (true) {
            Found found = wait_for_writer(path(), name_, options_, deadline);
            if (found.contact && found.contact->socket == gone_) {
                if (auto retained = open_retained(name_, options_)) {
                    found = {std::nullopt, std::move(retained), {}};
                }
            }
            if (resumes()) {
                claim(found.contact);
            }
            if (!found.contact) {
                lead.replay = true;
                return nullptr;
            }
            const Contact& contact = *found.contact;
            try {
                auto seat = take_seats(contact, deadline);
                lead.writer = contact;
                return seat;
            } catch (const StaleContact&) {
                if (options_.contact.empty() && open_retained(name_, options_)) {
                    gone_ = contact.socket;
                } else if (is_there(contact) && !may_end_soon(deadline)) {
                    throw;
                }
            } catch (const OutOfReach&) {
                if (is_there(contact)) {
                    throw;
                }
            } catch (const PeerStalled&) {
                throw;
            } catch (const PeerLost&) {
                if (is_there(contact) && !may_end_soon(deadline)) {
                    throw;
                }
            }
            lead.groups.clear();
        }
    }

    /// On the other ranks. A writer that ends meanwhile removes its file, and waits for all ranks
    /// of a job on another host that it let in: they need no file.
    std::shared_ptr<Seat> take_seat_beside_first() {
        const Contact& writer = *lead.writer;
        const auto found =
            is_served(options_) ? std::nullopt : look_for(path(), name_, options_).contact;
        if (found && found->socket != writer.socket) {
            throw PeerLost(Problem{"the writer was replaced by another while this was opened",
                                   text("process ", found->pid), "the writer that rank 0 found",
                                   "Open the stream again"});
        }
        try {
            return take_seats(writer, Deadline(options_.rendezvous_timeout_s));
        } catch (const StaleContact&) {
            throw_ended();
        } catch (const PeerStalled&) {
            throw;
        } catch (const PeerLost&) {
            if (is_there(writer)) {
                throw;
            }
            throw_ended();
        }
    }

    [[noreturn]] static void throw_ended() {
        throw PeerLost(Problem{"the writer ended while this was opened", "",
                               "the writer that rank 0 found", "Open the stream again"});
    }

    /// A writer that ended in order just now took its file with it: the next may come.
    bool is_there(const Contact& writer) const {
        const auto now = look_for(path(), name_, options_).contact;
        return now && now->socket == writer.socket;
    }

    /// Some ranks of the writer may have closed before others: what it has retained can be read
    /// when all have.
    bool may_end_soon(const Deadline& deadline) const {
        constexpr long pause_ns = 20'000'000;
        if (deadline.passed() || !is_retained(name_, options_)) {
            return false;
        }
        sleep_ns(pause_ns);
        return true;
    }

    const std::string& name_;
    const ReadingRank own_;
    const ReaderOptions& options_;
    std::string path() const { return contact_path(options_.directory, name_); }
    std::string gone_;  ///< of a dead writer whose number another process has
    PositionClaims claims_;
};

}  // namespace

std::shared_ptr<Reader::State> open_reader_state(const std::string& called, const mpi::Comm& comm,
                                                 const ReaderOptions& said) {
    auto state = make_shared_where_made<Reader::State>();
    std::string& name = state->name = called;
    ReaderOptions& options = state->options = said;
    Attaching attaching(name, comm, options);
    const auto say = [&](Terms& terms) {
        const char* remedy = "Give every rank the same name and options";
        terms.add("the name of the stream", exact(name), remedy);
        terms.add("the option 'start'", name_of(options.start), remedy);
        terms.add("the option 'full'", options.full ? name_of(*options.full) : "", remedy);
        terms.add("the option 'resume'", exact(options.resume), remedy);
        terms.add("the option 'retained'", exact(options.retained), remedy);
    };
    mpi::agree_on(
        comm,
        [&] {
            take_address(name, options);
            validate(name, options);
        },
        say);
    mpi::agree(comm, [&] {
        if (options.start == Start::Observe && comm.size() > 1) {
            throw InvalidArgument(
                Problem{"a job of several ranks cannot look on", text(comm.size(), " ranks"),
                        "one, as no step is kept until all have it",
                        "Open it on one rank without a communicator, or start with 'next'"});
        }
        if (comm.rank() == 0) {
            state->seat = attaching.take_seat();
        }
    });
    if (comm.size() > 1) {
        attaching.lead = share(comm, attaching.lead);
        mpi::agree(comm, [&] {
            if (comm.rank() != 0) {
                state->seat = attaching.take_seat();
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
    mpi::agree(comm, [&] { state->seat->wait_for_others(); });
    return state;
}

}  // namespace fluvial::stage
