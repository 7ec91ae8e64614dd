// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/secure_connection.hpp"

#include <algorithm>
#include <cstring>

#include <sodium.h>

#include "fluvial/base/error.hpp"

namespace fluvial::move {
namespace {

/// With the byte order of the host: messages are in it.
/// Its last byte is the number of the version.
constexpr std::uint64_t protocol = 0x464c55'4e455435;  // "FLUNET5"
constexpr std::size_t nonce_bytes = 32;
constexpr std::size_t public_bytes = crypto_scalarmult_BYTES;
constexpr std::size_t head_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t proof_bytes = crypto_auth_BYTES;
constexpr std::size_t seal_bytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t hello_bytes = sizeof protocol + nonce_bytes + public_bytes;
constexpr std::size_t server_bytes = nonce_bytes + public_bytes + head_bytes + proof_bytes;
constexpr std::size_t client_bytes = proof_bytes + head_bytes;
constexpr std::size_t message_bytes_max = std::size_t{1} << 30;
constexpr std::size_t ahead_bytes = 64 * 1024;

static_assert(shared_key_bytes == crypto_auth_KEYBYTES);

using Block = std::array<unsigned char, 32>;

const unsigned char* raw(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

void append(Bytes& to, const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    to.insert(to.end(), first, first + bytes);
}

}  // namespace

struct SecureConnection::Ciphers {
    std::array<unsigned char, crypto_scalarmult_SCALARBYTES> secret{};
    Block shared{};  ///< of the exchange of keys
    Bytes said;      ///< the hand-shake so far
    crypto_secretstream_xchacha20poly1305_state pushes{};
    crypto_secretstream_xchacha20poly1305_state pulls{};

    Ciphers() = default;
    ~Ciphers() {
        sodium_memzero(secret.data(), secret.size());
        sodium_memzero(shared.data(), shared.size());
    }
    Ciphers(const Ciphers&) = delete;
    Ciphers& operator=(const Ciphers&) = delete;

    void say_key() {
        std::array<unsigned char, nonce_bytes + public_bytes> mine{};
        randombytes_buf(mine.data(), nonce_bytes);
        randombytes_buf(secret.data(), secret.size());
        crypto_scalarmult_base(mine.data() + nonce_bytes, secret.data());
        append(said, mine.data(), mine.size());
    }
    void exchange(const unsigned char* theirs) {
        if (crypto_scalarmult(shared.data(), secret.data(), theirs) != 0) {
            throw Error("the other side's public key is none");
        }
    }
    /// The proof of this side or of the other.
    Block proof(const SharedKey& key, Side of) const {
        Bytes all;
        append(all, of == Side::Client ? "C" : "S", 1);
        append(all, said.data(), said.size());
        Block result;
        crypto_auth(result.data(), raw(all), all.size(), key.data());
        return result;
    }
    /// The key of the direction in which `from` sends. Called when both sides have sent public
    /// keys.
    Block stream_key(const SharedKey& key, Side from, std::size_t said_bytes) const {
        Bytes all;
        append(all, from == Side::Client ? "c" : "s", 1);
        append(all, shared.data(), shared.size());
        append(all, said.data(), said_bytes);
        Block result;
        crypto_generichash(result.data(), result.size(), raw(all), all.size(), key.data(),
                           key.size());
        return result;
    }
};

namespace {

/// What both directions' keys are made of: the two hellos, without what comes after the public
/// keys.
constexpr std::size_t keys_said_bytes = hello_bytes + nonce_bytes + public_bytes;

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

}  // namespace

SecureConnection::SecureConnection(TcpSocket socket, const SharedKey& key, Side side)
    : socket_(std::move(socket)),
      key_(key),
      side_(side),
      state_(side == Side::Server ? State::AwaitsHello : State::AwaitsServer),
      ciphers_(std::make_unique<Ciphers>()) {
    if (side_ == Side::Client) {
        send_hello();
    }
}

SecureConnection::SecureConnection(SecureConnection&&) noexcept = default;
SecureConnection& SecureConnection::operator=(SecureConnection&&) noexcept = default;
SecureConnection::~SecureConnection() = default;

bool SecureConnection::proven() const {
    return state_ == State::Proven;
}

/// True once `bytes` that were not taken yet are there.
bool SecureConnection::fill(std::size_t bytes) {
    if (filled_ - used_ >= bytes) {
        return true;
    }
    if (used_ > 0) {
        std::memmove(incoming_.data(), incoming_.data() + used_, filled_ - used_);
        filled_ -= used_;
        used_ = 0;
    }
    while (filled_ < bytes) {
        // Memory grows with what comes, not with what is announced.
        const std::size_t wanted = read_ahead_ && proven() ? std::max(bytes, ahead_bytes) : bytes;
        const std::size_t room = std::min(wanted, std::max(2 * filled_, ahead_bytes));
        if (incoming_.size() < room) {
            incoming_.resize(room);
        }
        const std::size_t got =
            socket_.read_some(std::span(incoming_).subspan(filled_, room - filled_));
        if (got == 0) {
            return false;
        }
        filled_ += got;
    }
    return true;
}

void SecureConnection::send_hello() {
    append(ciphers_->said, &protocol, sizeof protocol);
    ciphers_->say_key();
    messages_to_send() = ciphers_->said;
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
    Ciphers& c = *ciphers_;
    append(c.said, incoming_.data() + used_, hello_bytes);
    c.say_key();
    c.exchange(reinterpret_cast<const unsigned char*>(c.said.data()) + hello_bytes - public_bytes);
    unsigned char head[head_bytes];
    const Block key = c.stream_key(key_, Side::Server, keys_said_bytes);
    crypto_secretstream_xchacha20poly1305_init_push(&c.pushes, head, key.data());
    append(c.said, head, sizeof head);
    const Block proof = c.proof(key_, Side::Server);
    append(c.said, proof.data(), proof.size());
    messages_to_send().assign(c.said.begin() + hello_bytes, c.said.end());
    state_ = State::AwaitsProof;
}

void SecureConnection::answer_server() {
    Ciphers& c = *ciphers_;
    const auto* theirs = reinterpret_cast<const unsigned char*>(incoming_.data() + used_);
    append(c.said, theirs, server_bytes - proof_bytes);
    check_proof(theirs + server_bytes - proof_bytes, c.proof(key_, Side::Server));
    c.exchange(theirs + nonce_bytes);
    const Block pull_key = c.stream_key(key_, Side::Server, keys_said_bytes);
    if (crypto_secretstream_xchacha20poly1305_init_pull(
            &c.pulls, theirs + nonce_bytes + public_bytes, pull_key.data()) != 0) {
        throw Error("the head of the writer's cipher makes no sense");
    }
    append(c.said, theirs + server_bytes - proof_bytes, proof_bytes);
    unsigned char head[head_bytes];
    const Block push_key = c.stream_key(key_, Side::Client, keys_said_bytes);
    crypto_secretstream_xchacha20poly1305_init_push(&c.pushes, head, push_key.data());
    append(c.said, head, sizeof head);
    const Block proof = c.proof(key_, Side::Client);
    append(messages_to_send(), proof.data(), proof.size());
    append(messages_to_send(), head, sizeof head);
    state_ = State::Proven;
}

void SecureConnection::check_client() {
    Ciphers& c = *ciphers_;
    const auto* theirs = reinterpret_cast<const unsigned char*>(incoming_.data() + used_);
    append(c.said, theirs + proof_bytes, head_bytes);
    check_proof(theirs, c.proof(key_, Side::Client));
    const Block key = c.stream_key(key_, Side::Client, keys_said_bytes);
    if (crypto_secretstream_xchacha20poly1305_init_pull(&c.pulls, theirs + proof_bytes,
                                                        key.data()) != 0) {
        throw Error("the head of a reader's cipher makes no sense");
    }
    state_ = State::Proven;
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

std::optional<Bytes> SecureConnection::take() {
    while (!proven()) {
        if (!step()) {
            flush();
            return std::nullopt;
        }
        flush();
    }
    return take_message();
}

std::optional<Bytes> SecureConnection::take_message() {
    std::uint32_t sealed = 0;
    if (!fill(sizeof sealed)) {
        return std::nullopt;
    }
    std::memcpy(&sealed, incoming_.data() + used_, sizeof sealed);
    if (sealed < seal_bytes || sealed > message_bytes_max) {
        throw Error(Problem{"a message of another host has a size that none has",
                            text(sealed, " bytes"), text("at most ", message_bytes_max), ""});
    }
    if (!fill(sizeof sealed + sealed)) {
        return std::nullopt;
    }
    Bytes message(sealed - seal_bytes);
    unsigned char tag = 0;
    const auto* from =
        reinterpret_cast<const unsigned char*>(incoming_.data() + used_ + sizeof sealed);
    if (crypto_secretstream_xchacha20poly1305_pull(&ciphers_->pulls,
                                                   reinterpret_cast<unsigned char*>(message.data()),
                                                   nullptr, &tag, from, sealed, nullptr, 0) != 0) {
        throw Error(
            "a message of another host was changed on its way; find out which hosts are in the "
            "network");
    }
    used_ += sizeof sealed + sealed;
    return message;
}

void SecureConnection::post(std::span<const std::byte> message) {
    const auto sealed = static_cast<std::uint32_t>(message.size() + seal_bytes);
    if (message.size() > message_bytes_max - seal_bytes) {
        throw Error(Problem{"a message to another host is too long", text(message.size(), " bytes"),
                            text(message_bytes_max - seal_bytes), "Put fewer datasets in a step"});
    }
    Bytes& to = messages_to_send();
    append(to, &sealed, sizeof sealed);
    const std::size_t at = to.size();
    to.resize(at + sealed);
    crypto_secretstream_xchacha20poly1305_push(
        &ciphers_->pushes, reinterpret_cast<unsigned char*>(to.data() + at), nullptr, raw(message),
        message.size(), nullptr, 0, 0);
}

void SecureConnection::post_raw(std::span<const std::byte> bytes,
                                std::shared_ptr<const void> owner) {
    if (!bytes.empty()) {
        outgoing_.push_back({{}, bytes, std::move(owner)});
    }
}

std::size_t SecureConnection::read_raw(std::span<std::byte> to) {
    if (!has_more()) {
        return socket_.read_some(to);
    }
    const std::size_t bytes = std::min(to.size(), filled_ - used_);
    std::copy_n(incoming_.begin() + static_cast<std::ptrdiff_t>(used_), bytes, to.begin());
    used_ += bytes;
    return bytes;
}

Bytes& SecureConnection::messages_to_send() {
    if (outgoing_.empty() || !outgoing_.back().raw.empty()) {
        outgoing_.emplace_back();
    }
    return outgoing_.back().messages;
}

bool SecureConnection::sending() const {
    return !outgoing_.empty();
}

bool SecureConnection::flush() {
    constexpr std::size_t at_a_time = 16;
    while (sending()) {
        std::array<std::span<const std::byte>, at_a_time> parts;
        const std::size_t count = std::min(outgoing_.size(), at_a_time);
        std::transform(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(count),
                       parts.begin(), [](const Outgoing& one) { return one.bytes(); });
        parts[0] = parts[0].subspan(sent_);
        sent_ += socket_.write_some(std::span(parts).first(count));
        bool went = false;
        while (sending() && sent_ >= outgoing_.front().bytes().size()) {
            sent_ -= outgoing_.front().bytes().size();
            outgoing_.pop_front();
            went = true;
        }
        if (!went) {
            return false;
        }
    }
    return true;
}

}  // namespace fluvial::move
