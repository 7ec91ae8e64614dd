// SPDX-License-Identifier: Apache-2.0
/// Messages between two processes that know the same key, over TCP: each proves it to the other
/// before anything else is said, and what follows is encrypted. No call waits.
///
///     client                                        server
///     hello: protocol, ciphers, nonce, key     →
///                                              ←    hello: chosen cipher, nonce, key, head of the
///                                                   cipher, proof
///     proof, head of its cipher                →
///     messages                                 ↔    messages
///
/// The proofs are HMAC-SHA-512-256 under the key over all messages so far, so that neither can be
/// played back, reflected or moved to another connection, nor the ciphers that were offered be
/// changed. Messages are sealed (message_cipher.hpp) under keys that are made, for each connection
/// and direction, of the key and of an exchange of new keys (X25519): an attacker that learns the
/// key later cannot read earlier messages. A message that is changed, left out, repeated
/// or moved ends the connection.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "fluvial/base/bytes.hpp"
#include "fluvial/move/message_cipher.hpp"
#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

inline constexpr std::size_t shared_key_bytes = 32;
using SharedKey = std::array<unsigned char, shared_key_bytes>;

class SecureConnection {
  public:
    enum class Side { Client, Server };

    SecureConnection(TcpSocket socket, const SharedKey& key, Side side,
                     std::uint8_t ciphers = offered_ciphers());
    SecureConnection(SecureConnection&&) noexcept;
    SecureConnection& operator=(SecureConnection&&) noexcept;
    ~SecureConnection();

    /// From now on several messages are read at a time.
    void read_ahead() { read_ahead_ = true; }
    /// The other side knows the key.
    bool proven() const;
    /// By which messages are sealed, once proven().
    Cipher cipher() const { return cipher_; }
    /// A message that has come. Goes on with the hand-shake, too. Throws Refused when the other
    /// side does not know the key, Error when what it says makes no sense, PeerLost when it has
    /// gone.
    std::optional<Bytes> take();
    /// The same once proven(), into `to`, whose first bytes get it; how many. 0: none has come, it
    /// is empty, or longer than `to`, and take() gives it.
    std::size_t take_into(std::span<std::byte> to);
    /// Some of what comes next is here already, and no descriptor tells.
    bool has_more() const { return used_ < filled_; }
    /// Queues a message, once proven().
    void post(std::span<const std::byte> message);
    /// Sends what can be sent; true when all was. Throws PeerLost.
    bool flush();
    bool sending() const;
    /// For the end, until it is true, which takes a while where the network loses something: sends
    /// what was queued, and nothing more. The other side's system has it then, or has gone. What
    /// comes meanwhile is not wanted: but a connection that is closed with something unread, or to
    /// which something comes after that, is reset, and what is on its way is lost.
    bool see_off();

    /// Queues bytes that go as they are, between the messages before and behind; they stay as they
    /// are until they are sent, for as long as `owner` is kept.
    void post_raw(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
    /// How often bytes were queued raw, and how many of these queues are sent: what was queued by
    /// then is the system's, and its memory may change.
    std::uint64_t raw_posted() const { return raw_posted_; }
    std::uint64_t raw_sent() const { return raw_sent_; }
    /// Takes bytes that the other side has posted raw, at the place where it did: the message
    /// before says how many there are. How many came; 0: none for now.
    std::size_t read_raw(std::span<std::byte> to);

    const TcpSocket& socket() const { return socket_; }
    int descriptor() const { return socket_.descriptor(); }

  private:
    struct HandShake;
    enum class State { AwaitsHello, AwaitsServer, AwaitsProof, Proven };

    std::size_t ahead() const;
    bool fill(std::size_t bytes);
    bool step();
    std::size_t read_raw_and_ahead(std::span<std::byte> to);
    void send_hello();
    void check_version();
    void answer_hello();
    void answer_server();
    void check_client();
    std::optional<std::size_t> message_bytes();
    void open_message(std::span<std::byte> to);
    std::optional<Bytes> take_message();

    TcpSocket socket_;
    SharedKey key_;
    Side side_;
    std::uint8_t offered_;
    Cipher cipher_ = Cipher::XChaCha20;
    bool read_ahead_ = false;
    State state_;
    std::unique_ptr<HandShake> hand_shake_;  ///< until proven()
    std::unique_ptr<MessageCipher> sealing_, opening_;
    Bytes incoming_;        ///< what has come ...
    std::size_t used_ = 0;  ///< ... of which this much has been taken
    std::size_t filled_ = 0;
    bool raw_between_ = false, raw_came_ = false;  ///< before and since the last message
    std::size_t raw_bytes_ = 0;                    ///< that were to come behind a message last
    /// What is to be sent: messages, of this object, or raw bytes.
    struct Outgoing {
        Bytes messages;
        std::span<const std::byte> raw;
        std::shared_ptr<const void> owner;
        std::span<const std::byte> bytes() const { return messages.empty() ? raw : messages; }
    };
    Bytes& messages_to_send();
    void keep_memory(Bytes messages);

    std::deque<Outgoing> outgoing_;
    std::vector<Bytes> spares_;  ///< memory of messages that were sent
    std::size_t sent_ = 0;       ///< of the first
    std::uint64_t raw_posted_ = 0, raw_sent_ = 0;
};

}  // namespace fluvial::move
