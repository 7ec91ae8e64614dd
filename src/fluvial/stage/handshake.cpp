// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handshake.hpp"

#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

static_assert(key_bytes == crypto_auth_KEYBYTES);
using Nonce = std::array<unsigned char, 32>;
using Proof = std::array<unsigned char, crypto_auth_BYTES>;

constexpr std::uint32_t protocol = 0x464c5531;  // "FLU1"

Nonce new_nonce() {
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

/// `side` keeps a proof of one side from being played back as the other's.
Proof prove(const Key& key, char side, const Nonce& client, const Nonce& server) {
    std::array<unsigned char, 1 + 2 * sizeof(Nonce)> message{};
    message[0] = static_cast<unsigned char>(side);
    std::copy(client.begin(), client.end(), message.begin() + 1);
    std::copy(server.begin(), server.end(), message.begin() + 1 + sizeof(Nonce));
    Proof proof;
    crypto_auth(proof.data(), message.data(), message.size(), key.data());
    return proof;
}

bool equal(const Proof& a, const Proof& b) {
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

[[noreturn]] void rethrow_answer(ByteReader& in) {
    const std::string kind = in.get_string();
    throw_error(kind, in.get_string());
}

const Problem wrong_key{"the key of the contact file is not the writer's", "a wrong proof", "",
                        "The file was changed, or belongs to an earlier writer: read it again"};

}  // namespace

// Messages: client nonce → ← server nonce, server's proof → client's proof, request (descriptors) →
// ← ok, reply.
Attachment attach(const Contact& contact, const AttachRequest& request,
                  const std::vector<int>& descriptors, const Deadline& deadline) {
    auto socket = move::LocalSocket::connect(contact.socket);
    if (!socket) {
        throw StaleContact(Problem{"nobody answers at the address of the contact file",
                                   text("process ", contact.pid, " on ", contact.host), "",
                                   "The writer has ended; start it again"});
    }
    if (!socket->peer_is_same_user()) {
        throw Refused("the process at the address of the contact file belongs to another user");
    }
    const Nonce client = new_nonce();
    ByteWriter hello;
    hello.put(protocol);
    hello.put(client);
    socket->send(hello.view());

    const move::Message challenge = socket->receive(deadline);
    ByteReader in(challenge.bytes);
    if (in.get<std::uint8_t>() == 0) {
        rethrow_answer(in);
    }
    const auto server = in.get<Nonce>();
    const auto server_proof = in.get<Proof>();
    if (!equal(server_proof, prove(contact.key, 's', client, server))) {
        throw Refused(wrong_key);
    }
    ByteWriter answer;
    answer.put(prove(contact.key, 'c', client, server));
    answer.put(request);
    socket->send(answer.view(), descriptors);

    move::Message reply = socket->receive(deadline);
    ByteReader out(reply.bytes);
    if (out.get<std::uint8_t>() == 0) {
        rethrow_answer(out);
    }
    return {out.get<AttachReply>(), std::move(reply.descriptors)};
}

TrustedRequest receive_request(move::LocalSocket& socket, const Key& key,
                               const Deadline& deadline) {
    const move::Message hello = socket.receive(deadline);
    ByteReader in(hello.bytes);
    if (in.get<std::uint32_t>() != protocol) {
        throw Error(
            "the two jobs use different versions of Fluvial; install the same one for both");
    }
    const auto client = in.get<Nonce>();
    const Nonce server = new_nonce();
    ByteWriter challenge;
    challenge.put<std::uint8_t>(1);
    challenge.put(server);
    challenge.put(prove(key, 's', client, server));
    socket.send(challenge.view());

    move::Message answer = socket.receive(deadline);
    ByteReader rest(answer.bytes);
    const auto client_proof = rest.get<Proof>();
    if (!equal(client_proof, prove(key, 'c', client, server))) {
        throw Refused(wrong_key);
    }
    return {rest.get<AttachRequest>(), std::move(answer.descriptors)};
}

void send_reply(move::LocalSocket& socket, const AttachReply& reply,
                const std::vector<int>& descriptors) {
    ByteWriter out;
    out.put<std::uint8_t>(1);
    out.put(reply);
    socket.send(out.view(), descriptors);
}

void send_error(move::LocalSocket& socket, const std::string& kind, const std::string& message) {
    ByteWriter out;
    out.put<std::uint8_t>(0);
    out.put_string(kind);
    out.put_string(message);
    socket.send(out.view());
}

}  // namespace fluvial::stage
