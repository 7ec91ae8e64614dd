// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stream/own_buffer.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

constexpr Index index_max = std::numeric_limits<Index>::max();
// As between two turns of an operation; looking costs some 0.2 us.
constexpr std::int64_t mail_every_ns = 5'000;

ProducerEnd& producer_of(StreamState& stream) {
    stream.channel->check_usable();
    if (!stream.producer) {
        throw InvalidArgument(Problem{text("this rank is no producer of ", stream.name()),
                                      text("rank ", stream.channel->rank), "the producers",
                                      "Send on ranks with the role Producer or Both"});
    }
    if (stream.terminating) {
        throw InvalidArgument(Problem{text(stream.name(), " was terminated on this rank"), "", "",
                                      "Send before terminate(); attach another stream for more"});
    }
    if (stream.reserved != nullptr) {
        throw InvalidArgument(Problem{text("a reservation in ", stream.name(), " is still open"),
                                      "", "", "commit() it first; commit(0) gives it back"});
    }
    return *stream.producer;
}

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
    if (has == wanted) return;
    throw InvalidArgument(
        wanted ? Problem{text(stream.name(), " has no operation on this rank"), "", "",
                         "Attach it with one, or take its elements with next()"}
               : Problem{text(stream.name(), " has an operation, which takes its elements"), "", "",
                         "Attach it without one, or call operate()"});
}

/// The end of a stream does not come before its operation returns.
void check_not_inside(const StreamState& stream) {
    if (!stream.consumer || !stream.consumer->working()) return;
    throw InvalidArgument(
        Problem{text("the operation of ", stream.name(), " waits for its own end"), "", "",
                "Wait for it outside of the operation"});
}

void check_fixed(const StreamState& stream) {
    if (!stream.options.element.varies) return;
    throw InvalidArgument(Problem{text("elements of ", stream.name(), " vary in size"), "", "",
                                  "Use send_record, or reserve with a number of bytes"});
}

std::span<const std::byte> elements_at(const StreamState& stream, const void* elements,
                                       Index count) {
    const std::size_t bytes = stream.options.element.bytes;
    const auto most = static_cast<Index>(static_cast<std::size_t>(index_max) / bytes);
    if (count < 0 || count > most) {
        throw InvalidArgument(
            Problem{"a number of elements is out of range", text(count), text("0 to ", most), ""});
    }
    if (elements == nullptr && count > 0) {
        throw InvalidArgument(Problem{text("what is sent to ", stream.name(), " is missing"),
                                      "a null pointer", "the address of an element", ""});
    }
    return {static_cast<const std::byte*>(elements),
            static_cast<std::size_t>(count) * stream.options.element.bytes};
}

/// Elements go before mail otherwise, for as long as there are any.
void look_for_mail(StreamState& stream) {
    const std::int64_t now = now_ns();
    if (now - stream.looked_ns < mail_every_ns) return;
    stream.looked_ns = now;
    stream.channel->progress();
}

/// Waits for room, which is a stall.
void wait_for_room(StreamState& stream, const char* verb, const std::function<bool()>& found) {
    OwnBuffer own(stream, false);
    const auto done = [&] { return found() || (own.check(), false); };
    ++stream.counted.stalls;
    const Trace::Span span(stream.channel->trace.get(), Activity::Stalled, stream.number);
    const std::int64_t begin = now_ns();
    stream.channel->wait(text(verb, ' ', stream.name()), done);
    stream.counted.stalled_ns += now_ns() - begin;
}

/// Instead of waiting for room: a copy leaves when there is some.
void send_later(StreamState& stream, ProducerEnd& producer, const Sending& sending) {
    const auto kept =
        std::make_shared<std::vector<std::byte>>(sending.bytes.begin(), sending.bytes.end());
    const auto later = std::make_shared<Sending>(*kept, kept);
    later->record = sending.record;
    if (!producer.has_queued() && producer.advance(*later)) return;
    stream.fast = {};
    producer.queue(later);
}

/// Sends what was queued before, then `sending`. While it waits, an operation may send to the same
/// stream; that is queued behind.
void send_in_order(StreamState& stream, ProducerEnd& producer, Sending& sending) {
    try {
        if (!stream.channel->may_wait()) return send_later(stream, producer, sending);
        if (!producer.has_queued() && producer.advance(sending)) return;
        stream.fast = {};
        producer.queue({std::shared_ptr<void>(), &sending});
        wait_for_room(stream, "send to", [&] { return sending.done(); });
    } catch (...) {
        producer.drop(sending);
        // The consumer has a part of it: neither can the rest be sent, nor the whole once more.
        if (sending.begun()) stream.channel->fail(std::current_exception());
        throw;
    }
}

}  // namespace

Stream::Stream(Channel& channel, const StreamOptions& options, std::unique_ptr<Operation> operation)
    : state_(std::make_shared<StreamState>()) {
    state_->channel = channel.state();
    state_->channel->check_usable();
    state_->options = options;
    fast_ = &state_->fast;
    if (state_->channel->takes_part()) state_->channel->meet(Meeting::AttachStream);
    state_->number = static_cast<int>(state_->channel->streams.size());
    if (options.name.empty()) state_->options.name = text("stream ", state_->number);
    if (!state_->channel->takes_part()) return;
    const Trace::Span span(state_->channel->trace.get(), Activity::SetUp, state_->number);
    attach(*state_, std::move(operation));
    state_->channel->streams.push_back(state_);
    state_->channel->comm.barrier();  // nobody writes to a rank that does not know the stream yet
    state_->choose_fast();
}

Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

Statistics Stream::statistics() const {
    return state_->statistics();
}

const StreamOptions& Stream::options() const {
    return state_->options;
}

int Stream::number() const {
    return state_->number;
}

void Stream::check_size(std::size_t bytes) const {
    const Element& element = state_->options.element;
    if (!element.varies && bytes == element.bytes) return;
    throw InvalidArgument(
        Problem{text("an element of ", state_->name(), " has another size"), text(bytes, " bytes"),
                text(element.varies ? "up to " : "", element.bytes, " bytes"), ""});
}

void Stream::send_all(const void* elements, Index count) {
    ProducerEnd& producer = producer_of(*state_);
    check_fixed(*state_);
    Sending sending(elements_at(*state_, elements, count));
    send_in_order(*state_, producer, sending);
    state_->choose_fast();
}

void Stream::send_record(std::span<const std::byte> element) {
    ProducerEnd& producer = producer_of(*state_);
    if (!state_->options.element.varies || element.size() > state_->options.element.bytes) {
        check_size(element.size());
        send(element.data());
        return;
    }
    Sending sending(element);
    sending.record = true;
    send_in_order(*state_, producer, sending);
    ++state_->counted.sent_elements;
}

Pending Stream::isend(const void* elements, Index count, std::shared_ptr<const void> owner) {
    static_cast<void>(producer_of(*state_));
    check_fixed(*state_);
    return start(
        std::make_shared<Sending>(elements_at(*state_, elements, count), std::move(owner)));
}

Pending Stream::isend_record(std::span<const std::byte> element,
                             std::shared_ptr<const void> owner) {
    static_cast<void>(producer_of(*state_));
    if (!state_->options.element.varies || element.size() > state_->options.element.bytes) {
        check_size(element.size());
        return isend(element.data(), 1, std::move(owner));
    }
    const auto sending = std::make_shared<Sending>(element, std::move(owner));
    sending->record = true;
    Pending pending = start(sending);
    ++state_->counted.sent_elements;
    return pending;
}

Pending Stream::start(std::shared_ptr<Sending> sending) {
    ProducerEnd& producer = *state_->producer;
    try {
        if (producer.has_queued() || !producer.advance(*sending)) producer.queue(sending);
    } catch (...) {
        // As in send_in_order().
        if (sending->begun()) state_->channel->fail(std::current_exception());
        throw;
    }
    state_->choose_fast();
    return {state_, std::move(sending)};
}

std::span<std::byte> Stream::reserve(std::size_t bytes) {
    ProducerEnd& producer = producer_of(*state_);
    const Element& element = state_->options.element;
    if (element.varies ? bytes > element.bytes : bytes != 0 && bytes != element.bytes) {
        check_size(bytes);
    }
    if (state_->in_parts()) {
        throw InvalidArgument(Problem{text("an element of ", state_->name(), " travels in parts"),
                                      text(element.bytes, " bytes"),
                                      text("up to ", part_bytes_max, " bytes"),
                                      "Use reserve_many, which gives room for items, or send"});
    }
    const std::size_t needed = element.varies ? record_bytes(bytes) : element.bytes;
    Outlet* outlet = nullptr;
    const auto found = [&] {
        if (producer.has_queued()) return false;
        outlet = producer.with_room(needed);
        return outlet != nullptr;
    };
    if (!found()) wait_for_room(*state_, "reserve room in", found);
    std::byte* const room = outlet->try_lend(needed);
    state_->reserved = outlet;
    state_->reserved_bytes = needed;
    state_->fast = {};
    if (!element.varies) return {room, needed};
    const std::uint64_t length = bytes;
    std::memcpy(room, &length, sizeof length);
    return {room + sizeof length, bytes};
}

std::span<std::byte> Stream::reserve_many(Index wanted) {
    ProducerEnd& producer = producer_of(*state_);
    check_fixed(*state_);
    if (wanted < 1) {
        throw InvalidArgument(
            Problem{"a number of elements is out of range", text(wanted), "1 or more", ""});
    }
    const std::size_t unit = state_->plan.unit_bytes;
    Outlet* outlet = nullptr;
    const auto found = [&] {
        if (producer.has_queued()) return false;
        outlet = producer.with_room(unit);
        return outlet != nullptr;
    };
    if (!found()) wait_for_room(*state_, "reserve room in", found);
    std::byte* const room = outlet->try_lend(unit);
    // A link is taken for one element where there are several.
    const std::size_t most = producer.only() == nullptr ? 1 : static_cast<std::size_t>(wanted);
    const std::size_t units =  // the courier may take back what is not reserved
        std::min(most, std::max<std::size_t>(1, outlet->room() / unit));
    state_->reserved = outlet;
    state_->reserved_bytes = units * unit;
    state_->fast = {};
    return {room, units * unit};
}

void Stream::commit(Index count) {
    state_->channel->check_usable();
    if (state_->reserved == nullptr) {
        throw InvalidArgument(
            Problem{text("nothing is reserved in ", state_->name()), "", "", "reserve() first"});
    }
    const bool varies = state_->options.element.varies;
    const std::size_t unit = varies ? state_->reserved_bytes : state_->plan.unit_bytes;
    const auto units = static_cast<Index>(state_->reserved_bytes / unit);
    if (count < 0 || count > units) {
        throw InvalidArgument(Problem{"more elements are committed than were reserved", text(count),
                                      text("0 to ", units), ""});
    }
    state_->reserved->give_back(static_cast<std::size_t>(count) * unit);
    // The link may have been found empty meanwhile: nobody would look at it any more.
    if (state_->reserved->room() == 0) state_->reserved->progress();
    if (varies) state_->counted.sent_elements += static_cast<std::uint64_t>(count);
    state_->reserved = nullptr;
    state_->choose_fast();
}

void Stream::flush() {
    ProducerEnd& producer = producer_of(*state_);
    OwnBuffer own(*state_, true);
    state_->channel->wait(text("flush ", state_->name()),
                          [&] { return producer.advance_flush() || (own.check(), false); });
    state_->choose_fast();
}

void Stream::terminate() {
    iterminate().wait();
}

Pending Stream::iterminate() {
    if (state_->terminated) return {};
    if (!state_->terminating) producer_of(*state_);
    state_->fast = {};
    state_->terminating = true;
    state_->advance_termination();
    return {state_, nullptr};
}

void Stream::operate() {
    if (!state_->channel->takes_part()) return;
    consumer_of(*state_);
    check_operation(*state_, true);
    check_not_inside(*state_);
    state_->channel->wait(text("operate ", state_->name()),
                          [this] { return state_->outcome.has_value(); });
}

std::size_t Stream::operate_some(std::size_t bytes_max) {
    if (!state_->channel->takes_part()) return 0;
    ConsumerEnd& consumer = consumer_of(*state_);
    check_operation(*state_, true);
    std::size_t done = 0;
    const std::uint64_t before = consumer.bytes();
    while (done < bytes_max && (done == 0 || bytes_max - done >= state_->plan.unit_bytes)) {
        if (state_->work(bytes_max - done) == 0) break;
        done = static_cast<std::size_t>(consumer.bytes() - before);
    }
    state_->channel->progress(state_.get());
    return static_cast<std::size_t>(consumer.bytes() - before);
}

std::optional<Batch> Stream::try_next() {
    if (!state_->channel->takes_part()) return std::nullopt;
    ConsumerEnd& consumer = consumer_of(*state_);
    check_operation(*state_, false);
    look_for_mail(*state_);
    const Batch batch = consumer.lend();
    if (batch.bytes > 0) return batch;
    state_->channel->progress();
    if (state_->outcome) return std::nullopt;
    return Batch{};
}

std::optional<Batch> Stream::next() {
    std::optional<Batch> batch = try_next();
    if (!batch || batch->bytes > 0) return batch;
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
    const bool comes =
        state_->consumer || (state_->producer && state_->options.result_on_producers);
    if (!comes) {
        throw InvalidArgument(Problem{text("the result of ", state_->name(), " is not here"),
                                      text("rank ", state_->channel->rank), "the consumers",
                                      "Attach the stream with result_on_producers"});
    }
    if (!state_->outcome) {
        state_->channel->check_usable();
        if (state_->consumer) check_operation(*state_, true);
        check_not_inside(*state_);
        state_->channel->wait(text("end ", state_->name()),
                              [this] { return state_->outcome.has_value(); });
    }
    return state_->outcome->result;
}

}  // namespace fluvial::stream
