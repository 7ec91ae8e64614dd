// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/host_service.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/membership.hpp"

namespace fluvial::stage {
namespace {

constexpr int accept_ms = 50;
/// One client is served at a time: one that connects and says nothing must not keep the others
/// waiting for long.
constexpr double client_timeout_s = 2;
constexpr std::int64_t look_ns = 250'000'000;

}  // namespace

HostService::HostService(const Contact& contact, const ControlBlock& control,
                         const move::MemoryFile& own_arena)
    : key_(contact.key),
      control_(control),
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

void HostService::run() {
    std::int64_t looked_ns = now_ns();
    while (!stop_) {
        if (auto socket = listener_.accept(accept_ms)) {
            serve(*socket);
        }
        if (now_ns() - looked_ns > look_ns) {
            try {
                const ControlLock lock(control_);
                reap(control_);
            } catch (const PeerStalled&) {  // a peer is stopped inside its critical section: look
                                            // again later
            }
            looked_ns = now_ns();
        }
    }
}

/// A client may be hostile, dead or late: whatever it does ends here, and the stream goes on.
void HostService::serve(move::LocalSocket& socket) {
    try {
        if (!socket.peer_is_same_user()) {
            throw Refused("the stream belongs to another user");
        }
        TrustedRequest trusted = receive_request(socket, key_, Deadline(client_timeout_s));
        std::vector<int> descriptors = {control_.file().descriptor()};
        AttachReply reply;
        if (trusted.request.role == Role::WriterRank) {
            reply = admit_writer(trusted);
            received_.push_back(std::move(trusted.descriptors.front()));
        } else {
            reply = admit_reader(trusted.request);
            descriptors.insert(descriptors.end(), arenas_.begin(), arenas_.end());
        }
        send_reply(socket, reply, descriptors);
    } catch (const Error& error) {
        try {
            send_error(socket, error.kind(), error.what());
        } catch (const Error&) {  // it is gone already
        }
    }
}

AttachReply HostService::admit_writer(const TrustedRequest& trusted) {
    const int rank = trusted.request.rank;
    if (rank < 1 || rank >= control_.writer_ranks() || trusted.descriptors.size() != 1 ||
        arenas_[static_cast<std::size_t>(rank)] >= 0) {
        throw Error(Problem{
            "a writer rank cannot attach", text("rank ", rank),
            text("each of 1 to ", control_.writer_ranks() - 1, " once, with its arena"), ""});
    }
    arenas_[static_cast<std::size_t>(rank)] = trusted.descriptors.front().get();
    return {};
}

AttachReply HostService::admit_reader(const AttachRequest& request) {
    if (std::count(arenas_.begin(), arenas_.end(), -1) != 0) {
        throw Error("the writer is not complete yet; read the contact file again");
    }
    if (request.size < 1 || request.rank < 0 || request.rank >= request.size ||
        request.group >= groups_max) {
        throw InvalidArgument(Problem{"a reader rank cannot attach",
                                      text("rank ", request.rank, " of ", request.size),
                                      "a rank below the size of its job", ""});
    }
    const ControlLock lock(control_);
    const int group =
        request.group >= 0 ? request.group : open_group(control_, request.size, request.start);
    if (control_.group(group).state != GroupState::Joining) {
        throw PeerLost(
            "the reader job that this rank belongs to is not joining the stream any more");
    }
    try {
        return {open_reader(control_, group, request.rank, request.pid), group};
    } catch (const Error&) {
        if (request.group < 0) {
            close_group(control_, group);
        }
        throw;
    }
}

}  // namespace fluvial::stage
