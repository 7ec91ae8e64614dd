// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/channel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
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
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold.hpp"
#include "fluvial/stream/trace_file.hpp"

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

/// Throws on all ranks alike.
void check_roles(const mpi::Comm& everybody, Role role) {
    const bool produced = everybody.any(produces(role));
    if (everybody.any(consumes(role)) && produced) {
        return;
    }
    throw InvalidArgument(
        Problem{text("the channel has no ", produced ? "consumer" : "producer"),
                text("none of ", everybody.size(), " ranks"), "one or more of each",
                "Give ranks the roles by their number, e.g. the last two as consumers"});
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

/// Which of the numbers of the host's ranks is whose.
std::vector<int> ranks_on_host(const ChannelState& state) {
    std::vector<int> host_ranks(state.members.size(), -1);
    const auto members = state.host.allgather_values(state.rank);
    for (std::size_t i = 0; i < members.size(); ++i) {
        host_ranks[static_cast<std::size_t>(members[i])] = static_cast<int>(i);
    }
    return host_ranks;
}

std::vector<progress::Heartbeats::Neighbour> neighbours_of(const ChannelState& state) {
    std::vector<progress::Heartbeats::Neighbour> found;
    for (int other = 0; other < static_cast<int>(state.members.size()); ++other) {
        if (other == state.rank || state.host_ranks[static_cast<std::size_t>(other)] < 0) {
            continue;
        }
        found.push_back({other, state.members[static_cast<std::size_t>(other)].beats});
    }
    return found;
}

void introduce(ChannelState& state, Role role) {
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
        if (rank != state.rank && member.host == host && is_alive(member.process)) {
            state.watched.push_back(rank);
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
            state.heartbeats =
                progress::Heartbeats::begin(neighbours_of(state), state.options.stall_timeout_s);
        });
    } catch (...) {
        state.heartbeats.reset();
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
    state.trace = std::make_unique<Trace>();
    state.trace->add(Activity::SetUp, -1, begin_ns, now_ns());
    const bool one_host =
        std::all_of(state.members.begin(), state.members.end(),
                    [&](const Member& member) { return member.host == state.members[0].host; });
    if (!one_host) {
        state.clock_offset_ns = mpi::clock_offset(state.comm, now_ns);
    }
    state.trace_start_ns = state.comm.min(begin_ns + state.clock_offset_ns) - state.clock_offset_ns;
    ByteWriter first;
    first.put_string(state.options.trace_file);
    const Bytes bytes = state.comm.bcast(first.view(), 0);
    state.trace_file = ByteReader(bytes).get_string();
}

void write_trace(const ChannelState& state) {
    std::vector<Role> roles;
    for (const Member& member : state.members) {
        roles.push_back(member.role);
    }
    std::vector<std::string> names;
    for (const auto& stream : state.streams) {
        names.push_back(stream->name());
    }
    write_trace(state.trace_file, state.comm, *state.trace, state.clock_offset_ns, roles, names);
}

/// Throws InvalidArgument when nobody takes the elements that are left.
bool is_over(const std::shared_ptr<StreamState>& stream) {
    if (stream->consumer && stream->consumer->operation() == nullptr &&
        stream->consumer->lend().bytes > 0) {
        throw InvalidArgument(Problem{
            text("the channel is closed while elements of ", stream->name(), " are waiting"), "",
            "", "Take them with next() until the stream has ended, or attach an operation"});
    }
    return stream->ended();
}

/// Its room would be gone at the end.
void check_committed(const std::shared_ptr<StreamState>& stream) {
    if (!stream->reserved) {
        return;
    }
    throw InvalidArgument(
        Problem{text("the channel is closed while a reservation in ", stream->name(), " is open"),
                "", "", "commit() it first; commit(0) gives it back"});
}

bool is_drained(const std::shared_ptr<StreamState>& stream) {
    return !stream->producer || (stream->producer->drained() && stream->query->quiet());
}

/// Until nothing of this rank's is left, here or on its way.
void end_streams(ChannelState& state) {
    for (const auto& stream : state.streams) {
        check_committed(stream);
    }
    for (const auto& stream : state.streams) {
        if (stream->producer) {
            stream->terminating = true;
        }
    }
    state.closing = true;
    state.wait("end the streams of a channel", [&] {
        return std::all_of(state.streams.begin(), state.streams.end(), is_over) &&
               std::all_of(state.streams.begin(), state.streams.end(), is_drained) &&
               state.control->sent();
    });
}

/// Returns what kept the trace from being written.
std::exception_ptr free_together(ChannelState& state) {
    std::exception_ptr unwritten;
    try {
        if (state.trace) {
            write_trace(state);
        }
    } catch (const Error&) {
        unwritten = std::current_exception();
    }
    for (const auto& stream : state.streams) {
        stream->release_links();
    }
    state.streams.clear();
    for (const auto& threshold : state.thresholds) {
        threshold->forget_rule();
    }
    state.bells.close();
    state.host.close();
    state.comm.close();
    return unwritten;
}

}  // namespace

Channel::Channel(mpi::Comm comm, Role role, const ChannelOptions& options)
    : state_(std::make_shared<ChannelState>()) {
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
        open(comm, role);
    } catch (...) {
        // Where all throw the same, everything is closed by now; otherwise nobody waits.
        comm.abandon();
        state_->abandon();
        throw;
    }
}

void Channel::open(mpi::Comm& comm, Role role) {
    const std::int64_t begin_ns = now_ns();
    try {
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

Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&& other) noexcept {
    const Channel old = std::move(*this);  // warns when it was not closed
    state_ = std::move(other.state_);
    return *this;
}

Channel::~Channel() {
    if (!state_ || state_->closed || !state_->takes_part() || state_->process.is_copy()) {
        return;
    }
    if (mpi::running()) {
        std::fprintf(stderr, "fluvial: a Channel (rank %d) was destroyed without close().\n",
                     state_->rank);
    }
    abandon("the channel was left without close()");
}

Role Channel::role() const {
    return state_->takes_part() ? state_->members[static_cast<std::size_t>(state_->rank)].role
                                : Role::None;
}

int Channel::rank() const {
    return state_->rank;
}

int Channel::size() const {
    return static_cast<int>(state_->members.size());
}

const std::vector<Member>& Channel::members() const {
    return state_->members;
}

std::vector<int> Channel::producers() const {
    return state_->producers;
}

std::vector<int> Channel::consumers() const {
    return state_->consumers;
}

bool Channel::progress() {
    const progress::Served::Inside inside(state_->served);
    state_->check_usable();
    return state_->progress();
}

void Channel::close() {
    ChannelState& state = *state_;
    if (state.closed || !state.takes_part()) {
        state.closed = true;
        return;
    }
    if (state.process.is_copy()) {
        state.check_usable();
    }
    if (state.failure) {
        const bool unheard = state.unheard_failure();
        const mpi::Failure failure = *state.failure;
        state.abandon();
        if (unheard) {
            failure.raise(static_cast<int>(state.members.size()));
        }
        return;
    }
    if (state.working()) {
        throw InvalidArgument(Problem{"an operation closes the channel that it works for", "", "",
                                      "Close it outside of the operation"});
    }
    const progress::Served::Inside inside(state.served);
    std::exception_ptr unwritten;
    try {
        std::optional<Trace::Span> span(std::in_place, state.trace.get(), Activity::Terminating,
                                        -1);
        end_streams(state);
        // Whoever comes first still answers those that are not through yet.
        const ChannelState::Together together = state.begin_together(Collective::Close);
        state.control->drain();
        span.reset();
        state.closed = true;
        state.served.end();
        state.heartbeats.reset();
        unwritten = free_together(state);
    } catch (...) {
        state.fail(std::current_exception());
        state.abandon();
        throw;
    }
    if (unwritten) {
        std::rethrow_exception(unwritten);
    }
}

void Channel::abandon(const std::string& message) noexcept {
    if (state_->closed) {
        return;
    }
    state_->fail(mpi::Failure{"Error", message, state_->rank});
    state_->abandon();
}

}  // namespace fluvial::stream
