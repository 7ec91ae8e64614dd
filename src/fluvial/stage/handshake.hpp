// SPDX-License-Identifier: Apache-2.0
/// How a process proves to the writer that it can read the contact file, and the writer to it,
/// before either accepts anything else: a challenge and a response in each direction under the
/// shared key (HMAC-SHA-512-256, libsodium's crypto_auth). The key itself never travels.
///
///     client                                  writer
///     hello: protocol, nonce            →
///                                       ←     challenge: nonce, proof
///     response: proof, request          →
///                                       ←     go on                        (to a writer rank)
///     its arena's descriptor            →
///                                       ←     reply, descriptors
///
/// Each message of the writer may be an error in its place, or "come again": more clients are there
/// than it serves at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "fluvial/host/local_socket.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/options.hpp"

namespace fluvial::stage {

enum class Role : std::uint32_t { WriterRank, ReaderRank, Standby };

/// What a process asks for once it is trusted.
struct AttachRequest {
    Role role = Role::ReaderRank;
    std::int32_t rank = 0;
    std::int32_t size = 1;
    std::int32_t group = -1;  ///< -1: open a new reader group
    Start start = Start::Oldest;
    std::uint32_t pid = 0;
    std::uint64_t from = 0;  ///< the first step that is wanted, for Start::At
    std::int32_t full = -1;  ///< ReaderOptions::full; -1: none
};

/// `full` of a request.
inline std::int32_t number_of(std::optional<FullPolicy> full) {
    return full ? static_cast<std::int32_t>(*full) : -1;
}

/// Throws Error for what no program of this version asks.
void check_request(const AttachRequest& request);

struct AttachReply {
    std::int32_t cell = -1;
    std::int32_t group = -1;
    std::uint64_t from = 0;  ///< the first step that the reading job may get
};

/// What the writer sends back: the control block first, then the arenas by rank (none to writer
/// ranks, but for the one that stands by, once all have attached), and the two files of its steps
/// on a disk, if there are any.
struct Attachment {
    AttachReply reply;
    std::vector<host::Descriptor> descriptors;
};

/// How long to wait for the reply of a writer that is there, which may take long on a host that is
/// overloaded.
inline constexpr double attach_timeout_s = 30;

/// Connects, proves, asks. A writer rank brings the descriptor of its `arena`. Blocking, until
/// `deadline`. Throws StaleContact when no process listens, Refused when either side fails the
/// proof, TimedOut, or what the writer answers.
Attachment attach(const Contact& contact, const AttachRequest& request, std::optional<int> arena,
                  const Deadline& deadline);

inline constexpr std::size_t nonce_bytes = 32;
inline constexpr std::size_t proof_bytes = 32;
using Nonce = std::array<unsigned char, nonce_bytes>;
using Proof = std::array<unsigned char, proof_bytes>;

inline constexpr std::uint32_t handshake_protocol = 0x464c5535;  // "FLU5"

/// The first byte of each message of the writer.
enum class Verdict : std::uint8_t { Error, Good, GoOn, ComeAgain };

struct TrustedRequest {
    AttachRequest request;
    std::optional<host::Descriptor> arena;  ///< of a writer rank
};

/// A client as the writer sees it, from its first message to the last that it is sent. Nothing here
/// blocks: the loop that serves all clients calls `advance` when something has come from this one,
/// and `flush` while it has not been sent all.
class Applicant {
  public:
    Applicant(host::LocalSocket socket, double timeout_s);

    /// Takes what has come. The request, once and only when the client has proven that it knows
    /// `key`. Throws Refused when its proof is wrong, Error when it makes no sense, PeerLost when
    /// it has gone.
    std::optional<TrustedRequest> advance(const Key& key);
    bool proven() const { return state_ >= State::Proven; }

    /// The last that is said to the client; `descriptors` must stay open until `flush` is true.
    void reply(const AttachReply& reply, const std::vector<int>& descriptors);
    void refuse(const std::string& kind, const std::string& message);
    void turn_away();
    /// Sends what can be sent; true when all was. Throws PeerLost.
    bool flush() { return socket_.flush(); }

    bool answered() const { return state_ == State::Answered; }
    std::int64_t came_ns() const { return came_ns_; }
    const Deadline& deadline() const { return deadline_; }
    int descriptor() const { return socket_.descriptor(); }

  private:
    enum class State { New, Challenged, Proven, Answered };

    void challenge(const Bytes& hello, const Key& key);
    void check_response(const Bytes& response, const Key& key);

    host::LocalSocket socket_;
    std::int64_t came_ns_;
    Deadline deadline_;
    State state_ = State::New;
    Nonce client_{};
    Nonce server_{};
    AttachRequest request_;
};

}  // namespace fluvial::stage
