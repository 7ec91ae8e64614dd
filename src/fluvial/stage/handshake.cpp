// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handshake.hpp"

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/trusted_user.hpp"
#include "fluvial/stage/proof.hpp"

namespace fluvial::stage {
namespace {

/// The control block, and the arenas of as many writer ranks as one host can have.
constexpr std::size_t descriptors_max = 65536;

struct CameTooEarly {};

/// The writer's message without its verdict, which must be `expected`.
ByteReader open_message(const host::Message& message, Verdict expected) {
    ByteReader in(message.bytes);
    const auto verdict = in.get<Verdict>();
    if (verdict == Verdict::Error) {
        const std::string kind = in.get_string();
        throw_error(kind, in.get_string());
    }
    if (verdict == Verdict::ComeAgain) {
        throw CameTooEarly();
    }
    if (verdict != expected) {
        throw Error(
            "the writer's reply makes no sense; install the same version of Fluvial for "
            "both jobs");
    }
    return in;
}

/// A writer that closes the connection may have sent the reason before: the next message is that,
/// or PeerLost.
void tell(host::LocalSocket& socket, std::span<const std::byte> bytes,
          const std::vector<int>& descriptors, const Deadline& deadline) {
    try {
        socket.send(bytes, descriptors, deadline);
    } catch (const PeerLost&) {
    }
}

host::LocalSocket connect(const Contact& contact, const Deadline& deadline) {
    auto socket = host::LocalSocket::connect(contact.socket, deadline);
    if (!socket) {
        throw StaleContact(Problem{"no process answers at the address of the contact file",
                                   text("process ", contact.pid, " on ", contact.host), "",
                                   "The writer has ended; start it again"});
    }
    if (const uid_t user = socket->peer_user(); !host::is_trusted_user(user)) {
        throw Refused(Problem{
            "the process at the address of the contact file belongs to another user",
            host::user_name(user), host::trusted_users(), "Run both jobs as the same user"});
    }
    return std::move(*socket);
}

Attachment attach_once(const Contact& contact, const AttachRequest& request,
                       std::optional<int> arena, const Deadline& deadline) {
    host::LocalSocket socket = connect(contact, deadline);
    const Nonce client = new_nonce();
    ByteWriter hello;
    hello.put(handshake_protocol);
    hello.put(client);
    tell(socket, hello.view(), {}, deadline);

    const host::Message challenge = socket.receive(deadline);
    ByteReader in = open_message(challenge, Verdict::Good);
    const auto server = in.get<Nonce>();
    check_proof(in.get<Proof>(), prove(contact.key, Side::Server, client, server));
    socket.allow_descriptors();
    ByteWriter response;
    response.put(prove(contact.key, Side::Client, client, server));
    response.put(request);
    tell(socket, response.view(), {}, deadline);
    if (arena) {
        open_message(socket.receive(deadline), Verdict::GoOn);
        tell(socket, {}, {*arena}, deadline);
    }

    host::Message reply = socket.receive(deadline, descriptors_max);
    ByteReader out = open_message(reply, Verdict::Good);
    return {out.get<AttachReply>(), std::move(reply.descriptors)};
}

}  // namespace

Attachment attach(const Contact& contact, const AttachRequest& request, std::optional<int> arena,
                  const Deadline& deadline) {
    bool turned_away = false;
    try {
        while (true) {
            try {
                return attach_once(contact, request, arena, deadline);
            } catch (const CameTooEarly&) {
                turned_away = true;
            }
            constexpr double pause_s = 0.01;
            const Deadline again(pause_s);
            wait_until([&] { return again.passed(); }, deadline, "no reply");
        }
    } catch (const TimedOut&) {
        throw TimedOut(Problem{
            "the writer does not let this process attach in time",
            text("process ", contact.pid, " on ", contact.host,
                 turned_away ? " serves many clients, and none of them gets on"
                             : " takes connections, and does not answer"),
            "", "See whether it is stopped, or what occupies its host, and open the stream again"});
    }
}

}  // namespace fluvial::stage
