// SPDX-License-Identifier: Apache-2.0
/// Small messages between the ranks of a channel: ends, queries, verdicts, failures. They are
/// polled, before elements, by the rank that waits or works in the channel.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/progress/topic.hpp"

namespace fluvial::progress {

struct ControlMessage {
    Topic topic;
    int from = 0;     ///< rank in the channel
    int subject = 0;  ///< number of the stream, or of what else has several of its kind
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
    void post(int to, Topic topic, int subject, std::span<const std::byte> bytes = {});
    /// The next message that has arrived. Local, does not block. One probe. A long message that is
    /// still on its way holds up only what its sender posted after it.
    std::optional<ControlMessage> poll();
    /// Says what takes the messages of `topic`: `handler` returns whether something has moved by
    /// it. To be said once a topic, by all ranks alike, before any message is handled. Throws Error
    /// for a topic that has a handler.
    void on(Topic topic, std::function<bool(const ControlMessage&)> handler);
    /// Gives a message to the handler of its topic; true when something has moved by it. Throws
    /// what the handler throws, and Error where there is none.
    bool handle(const ControlMessage& message) const;
    /// Messages posted here less those taken here, observations aside: summed over all ranks, those
    /// under way.
    Index under_way() const { return under_way_; }
    /// Everything that was posted has been given to MPI for good. Local.
    bool sent();
    /// Takes, without a look at it, everything that was posted anywhere, so that no message is left
    /// for the communicator that gets this number next. Collective, blocking; no rank posts any
    /// more.
    void drain();
    /// Gives up on what was not sent and on what is half received: a rank died. Local.
    void abandon();

  private:
    std::optional<ControlMessage> next();

    const mpi::Comm* comm_;
    std::function<void(int)> ring_;
    std::map<Topic, std::function<bool(const ControlMessage&)>> handlers_;
    std::list<mpi::Request> posted_;
    std::list<mpi::Incoming> arriving_;  // in the order in which they were matched
    std::list<ControlMessage> to_self_;
    std::vector<Index> posted_to_;  // messages, by rank
    Index taken_ = 0;               // of other ranks
    Index under_way_ = 0;
};

inline constexpr int control_tag = 1;

}  // namespace fluvial::progress
