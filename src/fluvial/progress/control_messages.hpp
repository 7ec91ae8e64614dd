// SPDX-License-Identifier: Apache-2.0
/// Small messages between the ranks of a channel: ends, queries, verdicts, failures. They are
/// polled, before elements, by whoever waits or works in the channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::progress {

enum class ControlTopic : std::uint8_t {
    Closed,        ///< to a consumer: this producer's link has ended, with its number of bytes
    Done,          ///< up the tree of consumers: the sender and all below have ended, merged
    Finish,        ///< down the tree of consumers: everybody has ended, with the result
    Result,        ///< to a producer: the global result
    Failed,        ///< to everybody: what an operation threw
    Query,         ///< to the first consumer: what is the result so far?
    QueryPartial,  ///< between consumers: a partial result is wanted
    QueryAnswer,   ///< partial or global result with the number of elements that it covers
    Contribution,  ///< to a consumer: a value of one round of a threshold collective
    Verdict,       ///< to a producer or consumer: the outcome of a round
    WorkOn,        ///< to everybody at the end of a meeting: an operation is still under way
    Asked,         ///< to everybody: does anything move there?
    Told,          ///< the answer
};

/// Kinds that say something about all others.
inline bool is_about_others(ControlTopic kind) {
    return kind >= ControlTopic::WorkOn;
}

struct ControlMessage {
    ControlTopic kind = ControlTopic::Failed;
    int from = 0;    ///< rank in the channel
    int stream = 0;  ///< number of the stream in its channel
    std::vector<std::byte> bytes;
};

/// Order is kept between each two ranks. One thread at a time. A rank may post to itself.
class ControlMessages {
  public:
    /// `comm` is the channel's, and outlives the ControlMessages. Uses its tag `control_tag` alone.
    /// `ring` is called with the rank to which something was posted: it may be asleep.
    explicit ControlMessages(const mpi::Comm& comm, std::function<void(int)> ring = {})
        : comm_(&comm), ring_(std::move(ring)), posted_to_(static_cast<std::size_t>(comm.size())) {}

    /// Local, does not block, keeps the bytes until MPI has them. Throws SystemError when MPI
    /// fails.
    void post(int to, ControlTopic kind, int stream, std::span<const std::byte> bytes = {});
    /// The next message that has arrived. Local, does not block. One probe. A long message that is
    /// still on its way holds up only what its sender posted after it.
    std::optional<ControlMessage> poll();
    /// Letters posted here less those taken here, those about others aside: summed over all ranks,
    /// those under way.
    Index under_way() const { return under_way_; }
    /// Everything that was posted has been given to MPI for good. Local.
    bool sent();
    /// Takes, without a look at it, everything that was posted anywhere, so that no message is left
    /// for whoever gets this communicator's number next. Collective, blocking; nobody posts any
    /// more.
    void drain();
    /// Gives up on what was not sent and on what is half received: somebody died. Local.
    void abandon();

  private:
    std::optional<ControlMessage> next();

    const mpi::Comm* comm_;
    std::function<void(int)> ring_;
    std::list<mpi::Request> posted_;
    std::list<mpi::Incoming> arriving_;  // in the order in which they were matched
    std::list<ControlMessage> to_self_;
    std::vector<Index> posted_to_;  // messages, by rank
    Index taken_ = 0;               // of other ranks
    Index under_way_ = 0;
};

inline constexpr int control_tag = 1;

}  // namespace fluvial::progress
