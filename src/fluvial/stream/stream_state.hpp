// SPDX-License-Identifier: Apache-2.0
/// One stream on one rank.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "fluvial/host/host_memory.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/consumer_end.hpp"
#include "fluvial/stream/producer_end.hpp"
#include "fluvial/stream/query.hpp"
#include "fluvial/stream/statistics.hpp"
#include "fluvial/stream/stream.hpp"

namespace fluvial::stream {

/// An operation takes elements of more bytes than this in parts, if it does.
inline constexpr std::size_t part_bytes_max = 256 * 1024;

/// Room that the user writes into directly.
struct Reservation {
    move::Outlet* outlet =
        nullptr;  ///< null: no call may wait for room in a link, and `kept` leaves later
    std::size_t units = 0;
    std::size_t unit_bytes = 0;
    std::shared_ptr<std::vector<std::byte>> kept = nullptr;
};

/// To a producer: the global result.
inline constexpr progress::Topic topic_result("stream: result");

struct StreamState {
    /// Says that `taker` takes the messages of all topics of streams: their subject is the number
    /// of one.
    static void handle(progress::ControlMessages& control,
                       const std::function<bool(const progress::ControlMessage&)>& taker);

    std::shared_ptr<ChannelState> channel;
    int number = 0;
    StreamOptions options;
    move::LinkPlan plan;
    host::HostMemory memory;  ///< where rings into the consumers of this host are
    std::optional<ProducerEnd> producer;
    std::optional<ConsumerEnd> consumer;
    bool terminating = false;
    bool terminated = false;  ///< as a producer, all has left
    std::optional<Query> query;
    std::optional<Outcome> outcome;  ///< where it is to be had
    FastPath fast;                   ///< while nothing must be done before an element is written
    std::int64_t ended_ns = std::numeric_limits<std::int64_t>::max();  ///< as a consumer
    std::optional<Reservation> reserved;                               ///< and not committed yet
    std::int64_t looked_ns = 0;  ///< for control messages and the like, in next()
    bool answering = false;      ///< queries, further up the stack
    bool links_released = false;
    Statistics counted;  ///< what the ends do not count themselves

    const std::string& name() const { return options.name; }
    bool in_parts() const { return plan.unit_bytes < options.element.bytes && !plan.varies; }
    /// Everything that this rank has to do here is done.
    bool ended() const;
    /// It has ended here, no reply to this rank is under way, and nothing of it is further up the
    /// stack. Where that is so on all ranks, none touches the links any more.
    bool settled();
    Statistics statistics() const;
    /// Queued sends, links (unless `!produces`), elements (where there is an operation, and unless
    /// `!processes`), the end. True when something moved.
    bool progress(bool processes = true, bool produces = true);
    /// As a producer, while its thread waits for something else: elements then go nowhere but
    /// through queues, and no call of the program is under way.
    bool may_be_served() const {
        return fast.outlet == nullptr && !(producer && producer->choosing());
    }
    /// The part of it that begins no operation. True when something moved.
    bool attend();
    /// Before elements: answers what was asked, unless the operation is under way.
    bool answer_queries();
    /// Says in `fast` whether elements may go straight into the only link.
    void choose_fast();
    void take(const progress::ControlMessage& message);
    /// At most `bytes_max`; an exception becomes the channel's failure.
    std::size_t work(std::size_t bytes_max);
    bool advance_termination();
    /// Their memory goes back, and result and counts stay. Collective over the host; once settled()
    /// on all ranks.
    void release_links();
    /// The same, and nothing can be asked any more: when no rank can touch anything of the stream.
    void release();
    void abandon() noexcept;
};

/// Builds the links of a stream. Collective over the members of the channel.
void attach(StreamState& stream, std::unique_ptr<Operation> operation);

}  // namespace fluvial::stream
