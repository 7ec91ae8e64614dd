// SPDX-License-Identifier: Apache-2.0
/// A group of producers and consumers in one MPI job, which streams are attached to.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/base/movable.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/stream/association.hpp"

namespace fluvial::stream {

struct ChannelState;

/// Equal on all ranks, but for the name of the trace.
struct ChannelOptions {
    bool shared_memory = true;  ///< between ranks of one host; otherwise messages everywhere
    double timeout_s = 1e9;     ///< a blocking call without any progress for this long is TimedOut
    double dead_after_s = 1;    ///< a rank of this host that is dead is noticed by ranks that wait
    /// A rank of this host that is stopped (SIGSTOP, a debugger) for longer is PeerStalled on all
    /// ranks; 0.2 s at least, infinity for never. It is no limit on what a rank computes: a thread
    /// shows that the process runs. Ranks on other hosts are seen by their neighbours alone, and
    /// these tell the others.
    double stall_timeout_s = 10;
    /// What each rank did when, as a Chrome/Perfetto trace: written by the first rank at close(),
    /// which throws SystemError on all ranks when that fails. The first rank's word counts. Of a
    /// channel that fails each rank writes what it has into a file of its own beside that:
    /// "trace.rank-3.json" for "trace.json".
    std::string trace_file = {};
};

/// What a rank wants of a channel.
struct ChannelRequest {
    Role role = Role::None;
    ChannelOptions options = {};
};

/// Move-only; calls of one that has been moved from are an InvalidArgument. Its communicators are
/// its own: the application's messages never meet the channel's.
///
///     Channel channel(Comm::duplicate(MPI_COMM_WORLD), role);
///
///     Stream stream(channel, {.element = Element::of(DType::Float64)}, std::move(operation));
///
///     channel.close();
///
/// When a rank fails (its operation throws, or it dies or is stopped on the host of a rank that
/// calls the channel), every call on every rank throws that failure from then on: the class of the
/// exception with "rank 2 of 4: …", PeerLost or PeerStalled. close() then waits for no rank, and
/// throws only a failure that no call has thrown yet.
class Channel {
  public:
    /// Collective over `comm`, which the channel takes over and closes. Throws InvalidArgument on
    /// all ranks without a producer or without a consumer, or when the options differ. Two splits
    /// (one where every rank takes part) and some small collectives. Throws PeerLost when a rank of
    /// this host dies meanwhile, and TimedOut when one does not come within timeout_s.
    Channel(mpi::Comm comm, Role role, const ChannelOptions& options = {});
    /// The same where a rank may fail to say what it wants, as in a language whose arguments have
    /// no types: what `prepare` throws on one rank, every rank throws.
    Channel(mpi::Comm comm, const std::function<ChannelRequest()>& prepare);
    Channel(Channel&&) noexcept;
    Channel& operator=(Channel&&) noexcept;
    /// Warns when close() was forgotten.
    ~Channel();

    /// Ranks that are neither producer nor consumer have no part in a channel: their streams do
    /// nothing and end at once.
    Role role() const;
    /// The number among producers and consumers, in the order of `comm`; -1 for other ranks.
    int rank() const;
    int size() const;
    const std::vector<Member>& members() const;
    std::vector<int> producers() const;
    std::vector<int> consumers() const;

    /// Processes what has arrived for this rank, in all streams: control messages, elements,
    /// requests under way. Local, does not block. Returns whether anything happened. Throws what
    /// operations throw.
    bool progress();
    /// Ends every stream (producers terminate, consumers process what is left and merge), then
    /// frees everything. Collective over the ranks that take part, blocking. The user's own
    /// exception in flight is no reason to call it: abandon() then. Of a channel that has failed it
    /// frees what is here, and throws the failure if no call has: an operation may have thrown
    /// while this rank waited for something else.
    void close();
    /// Leaves without the others: these get a failure with this message, if there still is a way to
    /// tell them. Local, does not block or throw.
    void abandon(const std::string& message) noexcept;

    const std::shared_ptr<ChannelState>& state() const;

  private:
    void open(mpi::Comm& comm, Role role, const std::exception_ptr& failure);

    Movable<ChannelState> state_;
};

}  // namespace fluvial::stream
