// SPDX-License-Identifier: Apache-2.0
// Clients of the service thread that have only just come: what they must prove, and what becomes of
// them.
#include <algorithm>
#include <span>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/fabric_read.hpp"
#include "fluvial/move/interface.hpp"
#include "fluvial/move/tcp_read.hpp"
#include "fluvial/stage/admission.hpp"
#include "fluvial/stage/membership.hpp"
#include "fluvial/stage/remote_service.hpp"

namespace fluvial::stage {
namespace {

/// Clients at a time that have not proven to know the key ...
constexpr std::size_t visitors_max = 32;
/// ... for how long each may stay, where others wait ...
constexpr std::int64_t visitor_stay_where_full_ns = 200'000'000;
/// ... and where none does.
constexpr std::int64_t visitor_stay_ns = 2'000'000'000;

void check_stream(const ControlBlock& control, const std::string& name) {
    if (control.header().name != name) {
        throw Refused(Problem{
            text("the contact file of '", name.substr(0, 80), "' is that of another stream"),
            text("'", std::string(control.header().name).substr(0, 80), "'"),
            text("'", name.substr(0, 80), "'"),
            "It was moved or copied: open the stream by its own name"});
    }
}

/// Where a job that resumes has come to, which is kept with the steps; its first rank claims that,
/// and begins there.
std::optional<Position> position_of(const std::string& resume, const StreamMemory& memory,
                                    AttachRequest& request) {
    if (resume.empty()) {
        return std::nullopt;
    }
    check_position_name(resume);
    const PositionOf position{memory.retained, resume, memory.log->head().run};
    PositionClaim claim;
    if (request.group < 0) {
        claim = PositionClaim(position, request.size);
        request.from = claim.step();
    }
    return Position(position, request.rank, request.size, std::move(claim));
}

/// From here on the reader counts as one of the stream's.
host::AliveLock take_place(const ControlBlock& control, const AttachReply& place) {
    try {
        host::AliveLock alive(control.file(), control.reader_lock(place.cell));
        const ControlLock lock(control);
        activate_reader(control, place.cell);
        return alive;
    } catch (const Error& error) {  // no descriptor is free
        const ControlLock lock(control);
        lose_reader(control, place.cell, text("could not be let in: ", error.what()));
        throw_error(error.kind(), text("the writer cannot let a reader in: ", error.what()));
    }
}

}  // namespace

bool RemoteService::oldest_may_go() const {
    return !visitors_.empty() && now_ns() - visitors_.front().came_ns > visitor_stay_where_full_ns;
}

/// Those beyond wait in the kernel, so that each that is let in has time to prove itself.
bool RemoteService::may_let_in() const {
    return now_ns() >= accept_again_ns_ && (visitors_.size() < visitors_max || oldest_may_go());
}

void RemoteService::let_in() {
    try {
        while (may_let_in()) {
            auto socket = listener_.accept();
            if (!socket) {
                return;
            }
            if (visitors_.size() >= visitors_max) {
                visitors_.pop_front();
            }
            visitors_.push_back({move::SecureConnection(std::move(*socket), key_,
                                                        move::SecureConnection::Side::Server),
                                 now_ns()});
        }
    } catch (const SystemError&) {  // no descriptor is free
        accept_again_ns_ = now_ns() + shortage_pause_ns;
        if (oldest_may_go()) {
            visitors_.pop_front();
        }
    }
}

void RemoteService::serve_visitors() {
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
        bool over = now_ns() - visitor->came_ns > visitor_stay_ns;
        try {
            over = admit(*visitor) || over;
        } catch (const std::exception&) {  // it proves nothing, makes no sense, is gone, or asks
            over = true;                   // for more than this process has
        }
        visitor = over ? visitors_.erase(visitor) : std::next(visitor);
    }
}

/// True when the visitor leaves the list of visitors.
bool RemoteService::admit(Visitor& visitor) {
    if (!visitor.unheard && !(visitor.unheard = visitor.connection.take())) {
        visitor.connection.flush();
        return false;
    }
    look_after_server();
    if (standing_by_) {
        return waits_beside(visitor);
    }
    const Bytes message = *std::exchange(visitor.unheard, std::nullopt);
    ByteReader in(message);
    const auto purpose = in.get<FromReader>();
    if (purpose == FromReader::Data) {
        carry_data(visitor, in);
        return true;
    }
    if (purpose == FromReader::Peer) {
        ByteWriter out;
        out.put(FromWriter::Good);
        visitor.connection.post(out.view());
        peers_.emplace_back(std::move(visitor.connection), in.get_string(), *memory_.control);
        return true;
    }
    if (purpose == FromReader::GoesOn) {
        go_on(visitor, decode_goes_on(in));
        return true;
    }
    if (purpose == FromReader::Contact) {
        return !give_contact(visitor);
    }
    if (purpose != FromReader::Attach) {
        return true;
    }
    attach(visitor, decode_attach(in));
    return true;
}

/// False where there is none yet. The visitor stays until it has all of it, and has hung up.
bool RemoteService::give_contact(Visitor& visitor) {
    const std::lock_guard lock(mutex_);
    if (contact_.empty()) {
        return false;
    }
    ByteWriter out;
    out.put(FromWriter::Contact);
    const auto words = std::as_bytes(std::span(contact_));
    out.put_vector(Bytes(words.begin(), words.end()));
    visitor.connection.post(out.view());
    visitor.connection.flush();
    return true;
}

void RemoteService::attach(Visitor& visitor, const AttachMessage& wanted) {
    const ControlBlock& control = *memory_.control;
    try {
        check_request(wanted.request);
        check_stream(control, wanted.stream);
        visitor.connection.socket().give_up_after(patience_s(control.header().stall_timeout_s));
        AttachRequest request = wanted.request;
        if (!wanted.resume.empty()) {
            request.start = Start::At;
        }
        check_admissible(control, request);
        std::optional<Position> position = position_of(wanted.resume, memory_, request);
        const AttachReply place = admit_reader(control, memory_.log, request);
        host::AliveLock alive = take_place(control, place);
        sessions_.emplace_back(std::move(visitor.connection), wanted, place, std::move(alive),
                               memory_, std::move(position));
        control.header().remote_readers = static_cast<std::uint32_t>(sessions_.size());
    } catch (const Error& error) {
        visitor.connection.post(encode_failed(error.kind(), error.what()));
        visitor.connection.flush();
    }
}

RemoteSession* RemoteService::session_of(const Token& token) {
    const auto reader = std::find_if(sessions_.begin(), sessions_.end(), [&](const Reader& one) {
        return one.session.token() == token;
    });
    return reader != sessions_.end() ? &reader->session : nullptr;
}

/// A reader whose connection has fallen silent comes by another way.
void RemoteService::go_on(Visitor& visitor, const GoesOnMessage& message) {
    if (RemoteSession* session = session_of(message.token)) {
        visitor.connection.socket().give_up_after(
            patience_s(memory_.control->header().stall_timeout_s));
        session->go_on(std::move(visitor.connection), message);
        return;
    }
    if (take_over(visitor, message)) {
        return;
    }
    visitor.connection.post(encode_failed(
        "PeerLost", "the writer has given this reader's place up while it could not be reached"));
    visitor.connection.flush();
}

void RemoteService::carry_data(Visitor& visitor, ByteReader& in) {
    const DataMessage message = decode_data(in);
    RemoteSession* session = session_of(message.token);
    if (session == nullptr) {
        return;
    }
    const move::TcpSocket& socket = visitor.connection.socket();
    socket.give_up_after(patience_s(memory_.control->header().stall_timeout_s));
    if (!message.provider.empty()) {
        session->carry_data(message.rail,
                            move::serve_fabric(std::move(visitor.connection), message.provider));
        return;
    }
    visitor.connection.post(encode_carries_data(move::interface_of(socket.own_address())));
    session->carry_data(message.rail, std::make_unique<move::TcpRemoteServer>(
                                          std::move(visitor.connection), memory_.encrypt));
}

}  // namespace fluvial::stage
