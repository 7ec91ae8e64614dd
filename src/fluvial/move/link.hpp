// SPDX-License-Identifier: Apache-2.0
/// What both ends of a link are made from, whatever carries it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "fluvial/host/doorbell.hpp"
#include "fluvial/move/inlet.hpp"
#include "fluvial/move/outlet.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/progress/control_messages.hpp"

namespace fluvial::move {

/// Equal at both ends.
struct LinkPlan {
    int stream = 0;              ///< number in the channel
    bool varies = false;         ///< what travels are records (record.hpp), unit_bytes is 8
    std::size_t unit_bytes = 8;  ///< what is committed at a time is a multiple of this: an element,
                                 ///< or one of its items where operations take parts
    std::size_t piece_bytes_max = 8;  ///< of one record, or one try_direct; else unit_bytes
    std::size_t buffer_bytes = 0;     ///< memory of the link at either end, at most
    double latency_s = 1e-3;          ///< elements of an idle producer are under way after this
    int links = 1;                    ///< into one consumer
    double writers = 1;               ///< producers of one consumer on its host that run at once
    bool oversubscribed = false;      ///< ranks of the host share cores
    bool same_host = false;  ///< messages go through MPI's shared memory, which likes them small
};

/// To a consumer: the link of messages from this producer has ended, with its number of bytes.
inline constexpr progress::Topic topic_link_closed("link: closed");

/// Aggregated messages with credits (between hosts). `peer` is the consumer's rank in `comm`, which
/// outlives both ends. An end that is destroyed while messages of its link may be on their way says
/// so to `comm` (Comm::leave_messages), so that no later communicator receives them. The
/// latency bound holds while the producer does something else if MPI was initialised with
/// MPI_THREAD_MULTIPLE (a thread of the process then sends what lies too long). Otherwise it holds
/// from the producer's next call on, of progress(), of ServiceThread::serve(), or of try_reserve()
/// and hurry().
std::unique_ptr<Outlet> make_message_outlet(const LinkPlan& plan, const mpi::Comm& comm,
                                            progress::ControlMessages& control, int peer);
/// The other end of all such links to this consumer. `plan.buffer_bytes` is that of each of them.
class MessageInlet : public Inlet {
  public:
    /// Messages of topic_link_closed of this stream.
    virtual void take(const progress::ControlMessage& message) = 0;
};
std::unique_ptr<MessageInlet> make_message_inlet(const LinkPlan& plan, const mpi::Comm& comm,
                                                 std::vector<int> producers);

/// Bytes of shared memory that a ring of this plan needs, a multiple of 64.
std::size_t ring_memory(const LinkPlan& plan);
/// Lays an empty ring into `memory` (64-byte aligned, ring_memory() bytes). Once, by the consumer,
/// before the producer comes.
void lay_ring(const LinkPlan& plan, std::span<std::byte> memory);
/// The two ends of a ring that was laid. The memory outlives them.
/// `other` is rung, if there is one, when the other end has something worth waking up for.
std::unique_ptr<Outlet> make_ring_outlet(const LinkPlan& plan, std::span<std::byte> memory,
                                         host::Bell* other = nullptr);
std::unique_ptr<Inlet> make_ring_inlet(const LinkPlan& plan, std::span<std::byte> memory,
                                       int producer, host::Bell* other = nullptr);

}  // namespace fluvial::move
