// SPDX-License-Identifier: Apache-2.0
// How two processes prove the key to each other, and agree on a cipher: secure_connection.hpp has
// what they say.
#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/secure_connection.hpp"

namespace fluvial::move {
namespace {

/// With the byte order of the host: messages are in it.
/// Its last byte is the number of the version.
constexpr std::uint64_t protocol = 0x464c55'4e455443;  // "FLUNETC"
constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t public_bytes = crypto_scalarmult_BYTES;
constexpr std::size_t head_bytes = cipher_head_bytes;
constexpr std::size_t cipher_bytes = 1;  // those that are offered, or that is chosen
constexpr std::size_t proof_bytes = crypto_auth_BYTES;
constexpr std::size_t hello_bytes = sizeof protocol + cipher_bytes + nonce_bytes + public_bytes;
constexpr std::size_t server_key_at = cipher_bytes + nonce_bytes;
constexpr std::size_t server_head_at = server_key_at + public_bytes;
constexpr std::size_t server_bytes = server_head_at + head_bytes + proof_bytes;
constexpr std::size_t client_bytes = proof_bytes + head_bytes;

static_assert(shared_key_bytes == crypto_auth_KEYBYTES);

using Block = std::array<unsigned char, 32>;

void append_bytes(Bytes& to, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    to.insert(to.end(), first, first + bytes);
}

}  // namespace

struct SecureConnection::HandShake {
    std::array<unsigned char, crypto_scalarmult_SCALARBYTES> secret{};
    Block shared{};  ///< of the exchange of keys
    Bytes said;      ///< the hand-shake so far

    HandShake() = default;
    ~HandShake() {
        sodium_memzero(secret.data(), secret.size());
        sodium_memzero(shared.data(), shared.size());
    }
    HandShake(const HandShake&) = delete;
    HandShake& operator=(const HandShake&) = delete;

    void say_key(std::uint8_t ciphers) {
        append_bytes(said, &ciphers, cipher_bytes);
        std::array<unsigned char, nonce_bytes + public_bytes> mine{};
        randombytes_buf(mine.data(), nonce_bytes);
        randombytes_buf(secret.data(), secret.size());
        crypto_scalarmult_base(mine.data() + nonce_bytes, secret.data());
        append_bytes(said, mine.data(), mine.size());
    }
    void exchange(const unsigned char* theirs) {
        if (crypto_scalarmult(shared.data(), secret.data(), theirs) != 0) {
            throw Error("the other side's public key is none");
        }
    }
    /// The proof of this side or of the other.
    Block proof(const SharedKey& key, Side of) const {
        Bytes all;
        append_bytes(all, of == Side::Client ? "C" : "S", 1);
        append_bytes(all, said.data(), said.size());
        Block result;
        crypto_auth(result.data(), unsigned_chars(all), all.size(), key.data());
        return result;
    }
    /// The key of the direction in which `from` sends. Called when both sides have sent public
    /// keys.
    Block stream_key(const SharedKey& key, Side from, std::size_t said_bytes) const {
        Bytes all;
        append_bytes(all, from == Side::Client ? "c" : "s", 1);
        append_bytes(all, shared.data(), shared.size());
        append_bytes(all, said.data(), said_bytes);
        Block result;
        crypto_generichash(result.data(), result.size(), unsigned_chars(all), all.size(),
                           key.data(), key.size());
        return result;
    }
};

namespace {

/// What both directions' keys are made of: the two hellos, without what comes after the public
/// keys.
constexpr std::size_t keys_said_bytes = hello_bytes + server_head_at;

[[noreturn]] void throw_other_version() {
    throw Error(
        "the two jobs use different versions of Fluvial, or hosts of different byte order; "
        "install the same version for both");
}

void check_proof(const unsigned char* got, const Block& expected) {
    if (sodium_memcmp(got, expected.data(), expected.size()) != 0) {
        throw Refused(
            Problem{"the key of the contact file is not the writer's", "a wrong proof", "",
                    "The file was changed, or belongs to an earlier writer: read it again"});
    }
}

CipherHead head_at(const unsigned char* bytes) {
    CipherHead head;
    std::copy_n(bytes, head.size(), head.begin());
    return head;
}

}  // namespace

SecureConnection::SecureConnection(TcpSocket socket, const SharedKey& key, Side side,
                                   std::uint8_t ciphers)
    : socket_(std::move(socket)),
      key_(key),
      side_(side),
      offered_(ciphers),
      state_(side == Side::Server ? State::AwaitsHello : State::AwaitsServer),
      hand_shake_(std::make_unique<HandShake>()) {
    if (side_ == Side::Client) {
        send_hello();
    }
}

SecureConnection::SecureConnection(SecureConnection&&) noexcept = default;
SecureConnection& SecureConnection::operator=(SecureConnection&&) noexcept = default;
SecureConnection::~SecureConnection() = default;

void SecureConnection::send_hello() {
    append_bytes(hand_shake_->said, &protocol, sizeof protocol);
    hand_shake_->say_key(offered_);
    messages_to_send() = hand_shake_->said;
}

/// Throws as soon as the first bytes are those of another version, whose hand-shake may be shorter.
void SecureConnection::check_version() {
    if (state_ == State::AwaitsProof || !fill(sizeof protocol)) {
        return;
    }
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, incoming_.data() + used_, sizeof theirs);
    if (state_ == State::AwaitsHello && theirs != protocol) {
        socket_.write_some(std::as_bytes(std::span(&protocol, 1)));  // by which the client knows
        throw_other_version();
    }
    // A server of this version begins with its nonce, which is that once in 2^56 times.
    if (state_ == State::AwaitsServer && theirs >> 8 == protocol >> 8) {
        throw_other_version();
    }
}

void SecureConnection::answer_hello() {
    HandShake& h = *hand_shake_;
    append_bytes(h.said, incoming_.data() + used_, hello_bytes);
    cipher_ = chosen_cipher(offered_, std::to_integer<std::uint8_t>(h.said[sizeof protocol]));
    h.say_key(static_cast<std::uint8_t>(cipher_));
    h.exchange(reinterpret_cast<const unsigned char*>(h.said.data()) + hello_bytes - public_bytes);
    CipherHead head;
    sealing_ = make_sealing(cipher_, h.stream_key(key_, Side::Server, keys_said_bytes), head);
    append_bytes(h.said, head.data(), head.size());
    const Block proof = h.proof(key_, Side::Server);
    append_bytes(h.said, proof.data(), proof.size());
    messages_to_send().assign(h.said.begin() + hello_bytes, h.said.end());
    state_ = State::AwaitsProof;
}

void SecureConnection::answer_server() {
    HandShake& h = *hand_shake_;
    const auto* theirs = reinterpret_cast<const unsigned char*>(incoming_.data() + used_);
    append_bytes(h.said, theirs, server_bytes - proof_bytes);
    check_proof(theirs + server_bytes - proof_bytes, h.proof(key_, Side::Server));
    cipher_ = chosen_cipher(offered_, theirs[0]);
    h.exchange(theirs + server_key_at);
    opening_ = make_opening(cipher_, h.stream_key(key_, Side::Server, keys_said_bytes),
                            head_at(theirs + server_head_at));
    append_bytes(h.said, theirs + server_bytes - proof_bytes, proof_bytes);
    CipherHead head;
    sealing_ = make_sealing(cipher_, h.stream_key(key_, Side::Client, keys_said_bytes), head);
    append_bytes(h.said, head.data(), head.size());
    const Block proof = h.proof(key_, Side::Client);
    append_bytes(messages_to_send(), proof.data(), proof.size());
    append_bytes(messages_to_send(), head.data(), head.size());
    state_ = State::Proven;
    hand_shake_.reset();
}

void SecureConnection::check_client() {
    HandShake& h = *hand_shake_;
    const auto* theirs = reinterpret_cast<const unsigned char*>(incoming_.data() + used_);
    append_bytes(h.said, theirs + proof_bytes, head_bytes);
    check_proof(theirs, h.proof(key_, Side::Client));
    opening_ = make_opening(cipher_, h.stream_key(key_, Side::Client, keys_said_bytes),
                            head_at(theirs + proof_bytes));
    state_ = State::Proven;
    hand_shake_.reset();
}

/// One message of the hand-shake; false when it has not come yet.
bool SecureConnection::step() {
    const std::size_t bytes = state_ == State::AwaitsHello    ? hello_bytes
                              : state_ == State::AwaitsServer ? server_bytes
                                                              : client_bytes;
    check_version();
    if (!fill(bytes)) {
        return false;
    }
    if (state_ == State::AwaitsHello) {
        answer_hello();
    } else if (state_ == State::AwaitsServer) {
        answer_server();
    } else {
        check_client();
    }
    used_ += bytes;
    return true;
}

}  // namespace fluvial::move
