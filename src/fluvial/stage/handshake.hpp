// SPDX-License-Identifier: Apache-2.0
/// How a process proves to the writer that it can read the contact file, and the writer to it,
/// before either accepts anything else: a challenge and a response in each direction under the
/// shared key (HMAC-SHA-512-256, libsodium's crypto_auth). The key itself never travels.
#pragma once

#include <cstdint>
#include <string>

#include "fluvial/move/local_socket.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/options.hpp"

namespace fluvial::stage {

enum class Role : std::uint32_t { WriterRank, ReaderRank };

/// What a process asks for once it is trusted.
struct AttachRequest {
    Role role = Role::ReaderRank;
    std::int32_t rank = 0;
    std::int32_t size = 1;
    std::int32_t group = -1;  ///< -1: open a new reader group
    Start start = Start::Oldest;
    std::uint32_t pid = 0;
};

struct AttachReply {
    std::int32_t cell = -1;
    std::int32_t group = -1;
};

/// What the writer sends back: the control block first, then the arenas by rank (none to writer
/// ranks).
struct Attachment {
    AttachReply reply;
    std::vector<move::Descriptor> descriptors;
};

/// Connects, proves, asks. `descriptors` go with the request. Throws StaleContact when nobody
/// listens, Refused when either side fails the proof, TimedOut, or what the writer answers.
Attachment attach(const Contact& contact, const AttachRequest& request,
                  const std::vector<int>& descriptors, const Deadline& deadline);

/// The writer's side, up to the request. Throws Refused and tells the peer so when its proof is
/// wrong.
struct TrustedRequest {
    AttachRequest request;
    std::vector<move::Descriptor> descriptors;
};
TrustedRequest receive_request(move::LocalSocket& socket, const Key& key, const Deadline& deadline);
void send_reply(move::LocalSocket& socket, const AttachReply& reply,
                const std::vector<int>& descriptors);
void send_error(move::LocalSocket& socket, const std::string& kind, const std::string& message);

}  // namespace fluvial::stage
