// SPDX-License-Identifier: Apache-2.0
/// How a channel begins: its ranks agree on the options, and learn of each other.
#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/host/oversubscription.hpp"
#include "fluvial/host/process_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/clock_offset.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stream/channel.hpp"
#include "fluvial/stream/channel_state.hpp"

namespace fluvial::stream {

namespace {

void check_more_than_nothing(double seconds, const char* name) {
    if (seconds > 0) {
        return;
    }
    throw InvalidArgument(
        Problem{text(name, " is out of range"), text(seconds), "more than 0 seconds", ""});
}

void check_stall_timeout(double seconds) {
    if (seconds >= progress::stall_timeout_min_s) {
        return;
    }
    throw InvalidArgument(Problem{"stall_timeout_s is out of range", text(seconds),
                                  text(progress::stall_timeout_min_s, " seconds or more"),
                                  "Infinity lets stopped ranks be"});
}

/// Throws on all ranks alike what one rank could not say, or said wrongly.
void check_said(const mpi::Comm& everybody, Role role, const std::exception_ptr& failure) {
    mpi::agree(everybody, [&] {
        if (failure) {
            std::rethrow_exception(failure);
        }
        if (role > Role::Both) {
            throw InvalidArgument(Problem{"the role in a channel is none of its values",
                                          text("number ", static_cast<int>(role)),
                                          "0 to 3: None, Producer, Consumer, Both",
                                          "Name the enumerator"});
        }
    });
}

/// Throws on all ranks alike.
void check_roles(const mpi::Comm& everybody, Role role) {
    const bool produced = everybody.any(produces(role));
    if (everybody.any(consumes(role)) && produced) {
        return;
    }
    throw InvalidArgument(
        Problem{text("the channel has no ", produced ? "consumer" : "producer"),
                text("none of ", everybody.size(), everybody.size() == 1 ? " rank" : " ranks"),
                "one or more of each",
                everybody.size() == 1
                    ? "Start it on several ranks, as in `mpiexec -n 4 PROGRAM`, or let the only "
                      "one be both"
                    : "Give ranks the roles by their number, e.g. the last two as consumers"});
}

/// Throws on all ranks alike.
void check_agreed(const mpi::Comm& everybody, Role role, const ChannelOptions& options) {
    ByteWriter out;
    out.put_string(text("shared_memory ", options.shared_memory, ", timeout_s ", options.timeout_s,
                        ", dead_after_s ", options.dead_after_s, ", stall_timeout_s ",
                        options.stall_timeout_s));
    if (mpi::all_equal(everybody, out.view())) {
        check_more_than_nothing(options.timeout_s, "timeout_s");
        check_more_than_nothing(options.dead_after_s, "dead_after_s");
        check_stall_timeout(options.stall_timeout_s);
        return check_roles(everybody, role);
    }
    std::string first;
    int rank = 0;
    for (const auto& bytes : everybody.allgather(out.view())) {
        const std::string seen = ByteReader(bytes).get_string();
        if (rank == 0) {
            first = seen;
        }
        if (seen != first) {
            throw InvalidArgument(
                Problem{"the ranks open different channels", text(seen, " on rank ", rank),
                        text(first, " as on rank 0"), "Give all ranks the same options"});
        }
        ++rank;
    }
}

/// The number of each of the host's ranks.
std::vector<int> ranks_on_host(const ChannelState& state) {
    std::vector<int> host_ranks(state.members.size(), -1);
    const auto members = state.host.allgather_values(state.rank);
    for (std::size_t i = 0; i < members.size(); ++i) {
        host_ranks[static_cast<std::size_t>(members[i])] = static_cast<int>(i);
    }
    return host_ranks;
}

void introduce(ChannelState& state, Role role) {
    if (!state.comm.serial()) {
        mpi::notice_ending();
    }
    state.rank = state.comm.rank();
    state.host = state.comm.split_by_host(mpi::Comm::Split::OnThread);
    const int host = static_cast<int>(state.host.min(state.rank));
    const bool traces = !state.options.trace_file.empty();
    Member mine{role, host, host::own_process(), traces};
    if (!std::isinf(state.options.stall_timeout_s)) {
        mine.beats = progress::own_beats_place();
    }
    state.members = state.comm.allgather_values(mine);
    for (int rank = 0; rank < static_cast<int>(state.members.size()); ++rank) {
        const Member& member = state.members[static_cast<std::size_t>(rank)];
        if (produces(member.role)) {
            state.producers.push_back(rank);
        }
        if (consumes(member.role)) {
            state.consumers.push_back(rank);
        }
    }
    state.consumer_of = nearest_consumers(state.members);
    state.host_ranks = ranks_on_host(state);
    state.ranks_per_core_of = host::ranks_per_core(state.host);
    const bool sleeps = state.options.shared_memory && state.host_is_oversubscribed();
    try {
        mpi::agree(state.comm, [&] {
            if (sleeps) {
                state.bells = host::Bells(state.host);
            }
            state.lost_ranks.watch_host(state.members, state.rank, state.options);
        });
        state.lost_ranks.watch_next_host(state.comm);
    } catch (...) {
        state.lost_ranks.end();
        state.bells.close();
        state.host.close();
        state.comm.close();
        throw;
    }
    state.control = std::make_unique<progress::ControlMessages>(
        state.comm, [&state](int member) { ring(state.bell_of(member)); });
    state.handle_topics();
}

void begin_trace(ChannelState& state, std::int64_t begin_ns) {
    if (!state.members.front().traces) {
        return;
    }
    OwnTrace& trace = state.trace;
    trace.events = std::make_unique<Trace>();
    trace.events->add(Activity::SetUp, -1, begin_ns, now_ns());
    const bool one_host =
        std::all_of(state.members.begin(), state.members.end(),
                    [&](const Member& member) { return member.host == state.members[0].host; });
    if (!one_host) {
        trace.clock_offset_ns = mpi::clock_offset(state.comm, now_ns);
    }
    trace.start_ns = state.comm.min(begin_ns + trace.clock_offset_ns) - trace.clock_offset_ns;
    ByteWriter first;
    first.put_string(state.options.trace_file);
    const Bytes bytes = state.comm.bcast(first.view(), 0);
    trace.file = ByteReader(bytes).get_string();
}

}  // namespace

Channel::Channel(mpi::Comm comm, Role role, const ChannelOptions& options)
    : Channel(std::move(comm), [&] { return ChannelRequest{role, options}; }) {}

Channel::Channel(mpi::Comm comm, const std::function<ChannelRequest()>& prepare)
    : state_(std::make_shared<ChannelState>()) {
    ChannelRequest request;
    std::exception_ptr failure;
    try {
        request = prepare();
    } catch (...) {
        failure = std::current_exception();
    }
    const ChannelOptions& options = request.options;
    state_->options = options;
    if (comm.serial()) {
        state_->options.shared_memory = true;  // there are no messages
    }
    const int ranks = comm.size();
    std::optional<host::ProcessWatch> watch;
    const progress::Setup setup([&](double waited_s) {
        if (const auto dead = watch ? watch->dead_rank() : std::nullopt) {
            mpi::Failure{"PeerLost", "the process died", *dead}.raise(ranks);
        }
        if (options.timeout_s > 0) {
            progress::time_limit(options.timeout_s, "Fluvial could not open a channel")(waited_s);
        }
    });
    try {
        watch.emplace(comm, std::max(options.dead_after_s, 0.0) / 2);
        open(comm, request.role, failure);
    } catch (...) {
        // Where all throw the same, everything is closed by now; otherwise no rank waits.
        comm.abandon();
        state_->abandon();
        throw;
    }
}

void Channel::open(mpi::Comm& comm, Role role, const std::exception_ptr& failure) {
    const std::int64_t begin_ns = now_ns();
    try {
        check_said(comm, role, failure);
        check_agreed(comm, role, state_->options);
    } catch (...) {
        comm.close();
        throw;
    }
    if (comm.all(role != Role::None)) {
        state_->comm = std::move(comm);
    } else {
        mpi::Comm part =
            comm.split(role == Role::None ? 0 : 1, comm.rank(), mpi::Comm::Split::OnThread);
        comm.close();
        if (role == Role::None) {
            part.close();
            return;
        }
        state_->comm = std::move(part);
    }
    introduce(*state_, role);
    begin_trace(*state_, begin_ns);
}

}  // namespace fluvial::stream
