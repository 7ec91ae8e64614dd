// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/channel.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "fluvial/mpi/environment.hpp"
#include "fluvial/stream/stream_state.hpp"
#include "fluvial/stream/threshold.hpp"
#include "fluvial/stream/trace_file.hpp"

namespace fluvial::stream {

namespace {

void write_trace(const ChannelState& state) {
    std::vector<Role> roles;
    for (const Member& member : state.members) {
        roles.push_back(member.role);
    }
    std::vector<std::string> names;
    for (const auto& stream : state.streams) {
        names.push_back(stream->name());
    }
    write_trace(state.trace.file, state.comm, *state.trace.events, state.trace.clock_offset_ns,
                roles, names);
}

/// Throws InvalidArgument when elements are left that no call takes.
bool is_over(const std::shared_ptr<StreamState>& stream) {
    if (stream->consumer && stream->consumer->operation() == nullptr &&
        stream->consumer->lend().bytes > 0) {
        throw InvalidArgument(Problem{
            text("the channel is closed while elements of ", stream->name(), " are waiting"), "",
            "", "Take them with next() until the stream has ended, or attach an operation"});
    }
    return stream->ended();
}

/// Throws while a reservation is open: its room would be gone at the end.
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

/// Ends the streams: returns when nothing of this rank is left, here or on its way.
void end_streams(ChannelState& state) {
    for (const auto& stream : state.streams) {
        check_committed(stream);
    }
    for (const auto& stream : state.streams) {
        if (stream->producer) {
            stream->terminating = true;
        }
    }
    state.closing.begun = true;
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
        if (state.trace.events) {
            write_trace(state);
        }
    } catch (const Error&) {
        unwritten = std::current_exception();
    }
    for (const auto& stream : state.streams) {
        stream->release();
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

Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&& other) noexcept {
    if (this != &other) {
        const Channel old = std::move(*this);  // warns when it was not closed
        state_ = std::move(other.state_);
    }
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

const std::shared_ptr<ChannelState>& Channel::state() const {
    static_cast<void>(*state_);  // throws where it has been moved from
    return state_.shared();
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
    if (state.operations_under_way() > 0) {
        throw InvalidArgument(Problem{"an operation closes the channel that it works for", "", "",
                                      "Close it outside of the operation"});
    }
    const progress::Served::Inside inside(state.served);
    std::exception_ptr unwritten;
    try {
        state.check_usable();
        std::optional<Trace::Span> span(std::in_place, state.trace.events.get(),
                                        Activity::Terminating, -1);
        end_streams(state);
        // The rank that comes first still answers ranks that are not through yet.
        const ChannelState::Together together = state.begin_together(Collective::Close);
        state.control->drain();
        span.reset();
        state.closed = true;
        state.served.end();
        state.lost_ranks.end();
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
    if (!state_ || state_->closed) {
        return;
    }
    state_->fail(mpi::Failure{"Error", message, state_->rank});
    state_->abandon();
}

}  // namespace fluvial::stream
