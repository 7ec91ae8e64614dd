// SPDX-License-Identifier: Apache-2.0
/// How a seat elsewhere is taken and left.
#include <algorithm>
#include <array>
#include <iostream>

#include <sys/socket.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/rails.hpp"
#include "fluvial/move/shared_claims.hpp"
#include "fluvial/stage/remote_seat.hpp"

namespace fluvial::stage {
namespace {

/// To say good-bye; a peer that does not listen notices by the connection's end.
constexpr double leave_timeout_s = 1;

/// What can be sent at once or shortly.
void flush(move::SecureConnection& connection, const Deadline& deadline) {
    came_in_time([&] { return connection.flush(); }, deadline);
}

/// Until the other side has closed, too. What it sends meanwhile is not wanted; but a connection
/// that is closed with something unread is reset, and what it was last told may be lost with that.
void hear_out(move::SecureConnection& connection, const Deadline& deadline) {
    ::shutdown(connection.descriptor(), SHUT_WR);
    std::array<std::byte, 1 << 16> rest;
    const auto closed = [&] {
        while (connection.socket().read_some(rest) > 0) {
        }
        return false;  // the end is told by PeerLost
    };
    came_in_time(closed, deadline);
}

/// A connection that fell silent may have ended on the other side before this one was let in.
Bytes ask_for_place(move::SecureConnection& connection, const AttachMessage& wanted,
                    const Deadline& deadline) {
    try {
        connection.post(encode(wanted));
        return first_reply(connection, deadline);
    } catch (const PeerLost& lost) {
        throw CutOff(lost.what());
    }
}

}  // namespace

RemoteSeat::RemoteSeat(const std::string& name, const Contact& contact,
                       const AttachRequest& request, const ReaderOptions& options,
                       const Deadline& deadline)
    : name_(name),
      contact_(contact),
      options_(options),
      interfaces_(effective_interfaces(options)) {
    connection_ = connect_to(contact_, options.stall_timeout_s, endpoint_, interfaces_);
    auto& listed = contact_.endpoints = move::led_to(interfaces_, contact.endpoints);
    if (std::ranges::find(listed, endpoint_) == listed.end()) {
        listed = {endpoint_};  // found by the host's name: none of those answers
    }
    interface_ = move::interface_of(connection_->socket().own_address());
    // What does not work is told here, and as far as can be before the writer counts this reader.
    std::unique_ptr<move::FabricHalf> half;
    if (transport_of(options_).libfabric) {
        half = open_half();
    }
    attach(request, deadline);
    transport_ = stream_.encrypt ? "tcp, encrypted" : "tcp";
    if (half) {
        try {
            data_ = connect_to_data(deadline, std::move(half));
        } catch (...) {
            leave();
            throw;
        }
        transport_ = data_.reader->transport();
        pushes_ = false;
    }
}

void RemoteSeat::attach(const AttachRequest& request, const Deadline& deadline) {
    const bool may_go_on = contact_.endpoints.size() > 1;
    const Bytes reply = ask_for_place(
        *connection_,
        {request, options_.stall_timeout_s, name_, hostname(), may_go_on, options_.resume},
        deadline);
    ByteReader in(reply);
    const auto kind = in.get<FromWriter>();
    if (kind == FromWriter::Failed) {
        const std::string error = in.get_string();
        throw_error(error, in.get_string());
    }
    if (kind != FromWriter::Attached) {
        throw Error(
            "the writer's host answers what makes no sense; install the same version of "
            "Fluvial for both jobs");
    }
    stream_ = decode_attached(in);
    given_back_early_ =
        stream_.may_run_ahead && !may_go_on && !resumes() && stream_.standby_port == 0;
    for (std::size_t i = 0; i < stream_.arena_bytes.size(); ++i) {
        messages_.add_rank(stream_.ranks.at(i), stream_.arena_bytes[i]);
    }
    standby_may_serve_ = stream_.standby_port != 0;
    connection_->read_ahead();
    heard_ns_ = now_ns();
    heartbeat_ = std::make_unique<Heartbeat>(
        beat_ns_, beat_interval_s(std::min(stream_.stall_timeout_s, options_.stall_timeout_s)),
        [this] { beat(); });
}

RemoteSeat::~RemoteSeat() {
    try {
        leave();
    } catch (const std::exception& error) {
        std::cerr << "fluvial: a stream could not be left: " << error.what() << '\n';
    }
}

void RemoteSeat::leave() {
    heartbeat_.reset();
    if (claims_) {
        claims_->leave();
    }
    // Not under the lock: what is served meanwhile may come back to this seat.
    std::optional<move::SecureConnection> leaving;
    try {
        {
            const std::lock_guard lock(mutex_);
            if (!connection_) {
                return;
            }
            post_done();
            leaving.swap(connection_);
        }
        ByteWriter out;
        out.put(FromReader::Leave);
        leaving->post(out.view());
        const Deadline deadline(lost_.empty() ? leave_timeout_s : 0);
        flush(*leaving, deadline);
        if (resumes()) {
            hear_out(*leaving, deadline);
        }
    } catch (const Error&) {  // it is gone already, or does not listen
    }
}

}  // namespace fluvial::stage
