// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream.hpp"

#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

/// Of a stream that has been moved from: every call takes the slow path, which says so.
constexpr FastPath no_link;

ConsumerEnd& consumer_of(StreamState& stream) {
    stream.channel->check_usable();
    if (!stream.consumer) {
        throw InvalidArgument(Problem{text("this rank is no consumer of ", stream.name()),
                                      text("rank ", stream.channel->rank), "the consumers",
                                      "Process on ranks with the role Consumer or Both"});
    }
    return *stream.consumer;
}

void check_operation(const StreamState& stream, bool wanted) {
    const bool has = stream.consumer->operation() != nullptr;
    if (has == wanted) {
        return;
    }
    throw InvalidArgument(
        wanted ? Problem{text(stream.name(), " has no operation on this rank"), "", "",
                         "Attach it with one, or take its elements with next()"}
               : Problem{text(stream.name(), " has an operation, which takes its elements"), "", "",
                         "Attach it without one, or call operate()"});
}

/// The end of a stream does not come before its operation returns.
void check_not_inside(const StreamState& stream) {
    if (!stream.consumer || !stream.consumer->working()) {
        return;
    }
    throw InvalidArgument(
        Problem{text("the operation of ", stream.name(), " waits for its own end"), "", "",
                "Wait for it outside of the operation"});
}

/// Elements go before control messages otherwise, for as long as there are any.
void look_for_control_messages(StreamState& stream) {
    const std::int64_t now = now_ns();
    if (now - stream.looked_ns < control_every_ns) {
        return;
    }
    stream.looked_ns = now;
    stream.channel->progress();
}

}  // namespace

Stream::Stream(Channel& channel, const StreamOptions& options, std::unique_ptr<Operation> operation)
    : state_(std::make_shared<StreamState>()), fast_(&state_->fast) {
    state_->channel = channel.state();
    state_->channel->check_usable();
    state_->options = options;
    const auto name = [&] {
        state_->number = static_cast<int>(state_->channel->streams.size());
        if (options.name.empty()) {
            state_->options.name = text("stream ", state_->number);
        }
    };
    if (!state_->channel->takes_part()) {
        name();
        return;
    }
    const progress::Served::Inside inside(state_->channel->served);
    const ChannelState::Together together =
        state_->channel->begin_together(Collective::AttachStream);
    name();
    const Trace::Span span(state_->channel->trace.events.get(), Activity::SetUp, state_->number);
    attach(*state_, std::move(operation));
    state_->channel->streams.push_back(state_.shared());
    state_->channel->comm.barrier();  // no rank writes to one that does not know the stream yet
    state_->choose_fast();
}

Stream::Stream(Stream&& other) noexcept
    : state_(std::move(other.state_)), fast_(std::exchange(other.fast_, &no_link)) {}
Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        state_ = std::move(other.state_);
        fast_ = std::exchange(other.fast_, &no_link);
    }
    return *this;
}
Stream::~Stream() = default;

const std::shared_ptr<StreamState>& Stream::state() const {
    static_cast<void>(*state_);  // throws where it has been moved from
    return state_.shared();
}

Statistics Stream::statistics() const {
    return state_->statistics();
}

const StreamOptions& Stream::options() const {
    return state_->options;
}

int Stream::number() const {
    return state_->number;
}

void Stream::operate() {
    if (!state_->channel->takes_part()) {
        return;
    }
    consumer_of(*state_);
    check_operation(*state_, true);
    check_not_inside(*state_);
    state_->channel->wait(text("operate ", state_->name()),
                          [this] { return state_->outcome.has_value(); });
}

std::size_t Stream::operate_some(std::size_t bytes_max) {
    const progress::Served::Inside inside(state_->channel->served);
    if (!state_->channel->takes_part()) {
        return 0;
    }
    ConsumerEnd& consumer = consumer_of(*state_);
    check_operation(*state_, true);
    std::size_t done = 0;
    const std::uint64_t before = consumer.bytes();
    while (done < bytes_max && (done == 0 || bytes_max - done >= state_->plan.unit_bytes)) {
        if (state_->work(bytes_max - done) == 0) {
            break;
        }
        done = static_cast<std::size_t>(consumer.bytes() - before);
    }
    state_->channel->progress(&*state_);
    return static_cast<std::size_t>(consumer.bytes() - before);
}

std::optional<Batch> Stream::try_next() {
    const progress::Served::Inside inside(state_->channel->served);
    if (!state_->channel->takes_part()) {
        return std::nullopt;
    }
    ConsumerEnd& consumer = consumer_of(*state_);
    check_operation(*state_, false);
    look_for_control_messages(*state_);
    const Batch batch = consumer.lend();
    if (batch.bytes > 0) {
        return batch;
    }
    state_->channel->progress();
    if (state_->outcome) {
        return std::nullopt;
    }
    return Batch{};
}

std::optional<Batch> Stream::next() {
    std::optional<Batch> batch = try_next();
    if (!batch || batch->bytes > 0) {
        return batch;
    }
    state_->channel->wait(text("wait for elements of ", state_->name()), [&] {
        batch = try_next();
        return !batch || batch->bytes > 0;
    });
    return batch;
}

bool Stream::ended() const {
    return !state_->channel->takes_part() || state_->outcome.has_value() ||
           (!state_->consumer && !state_->options.result_on_producers && state_->terminated);
}

const std::vector<std::byte>& Stream::result() {
    const ChannelState& channel = *state_->channel;
    const Role role = channel.takes_part()
                          ? channel.members[static_cast<std::size_t>(channel.rank)].role
                          : Role::None;
    if (!consumes(role) && !(produces(role) && state_->options.result_on_producers)) {
        throw InvalidArgument(Problem{text("the result of ", state_->name(), " is not here"),
                                      text("rank ", state_->channel->rank), "the consumers",
                                      "Attach the stream with result_on_producers"});
    }
    if (!state_->outcome) {
        state_->channel->check_usable();
        if (state_->consumer) {
            check_operation(*state_, true);
        }
        check_not_inside(*state_);
        state_->channel->wait(text("end ", state_->name()),
                              [this] { return state_->outcome.has_value(); });
    }
    return state_->outcome->result;
}

}  // namespace fluvial::stream
