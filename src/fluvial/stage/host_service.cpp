// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/host_service.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <poll.h>

#include "fluvial/base/error.hpp"
#include "fluvial/host/trusted_user.hpp"
#include "fluvial/stage/admission.hpp"
#include "fluvial/stage/membership.hpp"

namespace fluvial::stage {
namespace {

constexpr int wait_ms = 50;
constexpr std::int64_t look_ns = 250'000'000;
/// Clients at a time that have not proven to know the key: each has one of the process's
/// descriptors.
constexpr int applicants_max = 128;
/// When there are that many, each has at least this long.
constexpr std::int64_t applicant_stay_ns = 100'000'000;
/// A client that is not through by then has died or is stopped.
constexpr double client_timeout_s = 10;
constexpr int accepts_a_turn = 64;

}  // namespace

HostService::HostService(const Contact& contact, const ControlBlock& control,
                         const host::MemoryFile& own_arena, const StepLog* log,
                         const host::Event* bell)
    : key_(contact.key),
      control_(control),
      log_(log),
      bell_(bell),
      listener_(contact.socket),
      arenas_(static_cast<std::size_t>(control.writer_ranks()), -1) {
    arenas_[0] = own_arena.descriptor();
    thread_ = std::thread([this] { run(); });
}

HostService::~HostService() {
    stop_ = true;
    listener_.stop();
    thread_.join();
}

std::vector<host::Mapping> HostService::map_arenas() const {
    std::vector<host::Mapping> arenas;
    for (const int arena : arenas_) {
        const int copy = ::fcntl(arena, F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            throw_errno("cannot take the memory of a writer rank", errno,
                        "Raise the limit on open files (ulimit -n)");
        }
        arenas.push_back(
            host::MemoryFile::adopt(host::Descriptor(copy)).map(host::Access::ReadOnly));
    }
    return arenas;
}

void HostService::run() {
    while (!stop_) {
        wait();
        let_in();
        serve_all();
        look_after_members();
    }
}

bool HostService::room_for_more() const {
    if (now_ns() < accept_again_ns_) {
        return false;
    }
    const auto strangers =
        std::count_if(applicants_.begin(), applicants_.end(),
                      [](const Applicant& a) { return !a.proven() && !a.answered(); });
    return strangers < applicants_max;
}

void HostService::wait() const {
    std::vector<pollfd> all;
    const bool full = !room_for_more();
    for (const Applicant& a : applicants_) {
        all.push_back({a.descriptor(), static_cast<short>(a.answered() ? 0 : POLLIN), 0});
    }
    if (!full) {
        all.push_back({listener_.descriptor(), POLLIN, 0});
    }
    // What could not be sent at once is tried again each turn.
    const bool sending = std::any_of(applicants_.begin(), applicants_.end(),
                                     [](const Applicant& a) { return a.answered(); });
    ::poll(all.data(), all.size(), full || sending ? wait_ms / 10 : wait_ms);
}

/// Turns away the client that has stayed longest without a proof, if that was long enough.
bool HostService::make_room() {
    const auto oldest =
        std::find_if(applicants_.begin(), applicants_.end(),
                     [](const Applicant& a) { return !a.proven() && !a.answered(); });
    if (oldest == applicants_.end() || now_ns() - oldest->came_ns() < applicant_stay_ns) {
        return false;
    }
    oldest->turn_away();
    try {
        oldest->flush();
    } catch (const Error&) {  // it is gone already
    }
    applicants_.erase(oldest);
    return true;
}

void HostService::let_in() {
    if (now_ns() < accept_again_ns_) {
        return;
    }
    for (int i = 0; i < accepts_a_turn && (room_for_more() || make_room()); ++i) {
        try {
            if (!let_one_in()) {
                return;
            }
        } catch (const SystemError& error) {  // no descriptor is free
            if (!make_room()) {
                explain_shortage(error.what());
                return;
            }
        }
    }
}

/// False when no client waits.
bool HostService::let_one_in() {
    auto socket = listener_.accept();
    if (!socket) {
        return false;
    }
    const uid_t user = socket->peer_user();
    Applicant& applicant = applicants_.emplace_back(std::move(*socket), client_timeout_s);
    if (!host::is_trusted_user(user)) {
        const Refused refusal(Problem{"the stream belongs to another user", host::user_name(user),
                                      host::trusted_users(), "Run both jobs as the same user"});
        applicant.refuse(refusal.kind(), refusal.what());
    }
    serve(applicant);
    return true;
}

/// Clients that wait would run into a time-out and not know why.
void HostService::explain_shortage(const std::string& why) {
    accept_again_ns_ = now_ns() + shortage_pause_ns;
    bool more = true;
    while (more) {
        try {
            auto socket = listener_.accept_in_need();
            more = socket.has_value();
            if (socket) {
                Applicant applicant(std::move(*socket), client_timeout_s);
                applicant.refuse("SystemError", "the writer " + why);
                applicant.flush();
            }
        } catch (const Error&) {  // it is gone, or another thread took the descriptor: later
            more = false;
        }
        listener_.restock();
    }
}

/// A client may be hostile, dead or late: whatever it does ends here, and the stream goes on.
void HostService::serve(Applicant& applicant) {
    try {
        try {
            if (applicant.answered()) {
                return;
            }
            if (auto trusted = applicant.advance(key_)) {
                std::vector<int> descriptors = {control_.file().descriptor()};
                AttachReply reply;
                if (trusted->request.role == Role::WriterRank) {
                    reply = admit_writer(*trusted);
                    if (bell_ != nullptr) {
                        descriptors.push_back(bell_->descriptor());
                    }
                } else {
                    reply = admit_to_memory(trusted->request);
                    descriptors.insert(descriptors.end(), arenas_.begin(), arenas_.end());
                }
                if (log_ != nullptr) {
                    descriptors.push_back(log_->entries_descriptor());
                    descriptors.push_back(log_->data_descriptor());
                }
                applicant.reply(reply, descriptors);
            }
        } catch (const Error& error) {
            applicant.refuse(error.kind(), error.what());
        }
        applicant.flush();
    } catch (const Error&) {  // it is gone already
    }
}

void HostService::serve_all() {
    for (auto a = applicants_.begin(); a != applicants_.end();) {
        serve(*a);
        bool over = a->deadline().passed();
        try {
            if (over && !a->answered()) {
                a->turn_away();
            }
            over = (a->flush() && a->answered()) || over;
        } catch (const Error&) {  // it is gone already
            over = true;
        }
        a = over ? applicants_.erase(a) : std::next(a);
    }
}

void HostService::look_after_members() {
    if (now_ns() - looked_ns_ < look_ns) {
        return;
    }
    try {
        const ControlLock lock(control_);
        reap(control_);
    } catch (const PeerStalled&) {  // a peer is stopped inside its critical section: look again
                                    // later
    }
    looked_ns_ = now_ns();
}

AttachReply HostService::admit_writer(TrustedRequest& trusted) {
    const int rank = trusted.request.rank;
    if (rank < 1 || rank >= control_.writer_ranks() || !trusted.arena ||
        arenas_[static_cast<std::size_t>(rank)] >= 0) {
        throw Error(Problem{
            "a writer rank cannot attach", text("rank ", rank),
            text("each of 1 to ", control_.writer_ranks() - 1, " once, with its arena"), ""});
    }
    arenas_[static_cast<std::size_t>(rank)] = trusted.arena->get();
    received_.push_back(std::move(*trusted.arena));
    return {};
}

/// A reader, or the writer rank that stands by for this one.
AttachReply HostService::admit_to_memory(const AttachRequest& request) {
    if (std::count(arenas_.begin(), arenas_.end(), -1) != 0) {
        throw Error("the writer is not complete yet; read the contact file again");
    }
    return request.role == Role::Standby ? AttachReply{}
                                         : stage::admit_reader(control_, log_, request);
}

}  // namespace fluvial::stage
