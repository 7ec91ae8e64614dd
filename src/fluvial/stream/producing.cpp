// SPDX-License-Identifier: Apache-2.0
/// What producers call.
#include <algorithm>
#include <limits>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/move/record.hpp"
#include "fluvial/stream/own_buffer.hpp"
#include "fluvial/stream/stream.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::stream {

namespace {

constexpr Index index_max = std::numeric_limits<Index>::max();

ProducerEnd& producer_of(StreamState& stream) {
    stream.channel->check_usable();
    stream.channel->look_for_failure();
    if (!stream.producer) {
        throw InvalidArgument(Problem{text("this rank is no producer of ", stream.name()),
                                      text("rank ", stream.channel->rank), "the producers",
                                      "Send on ranks with the role Producer or Both"});
    }
    if (stream.terminating) {
        throw InvalidArgument(Problem{text(stream.name(), " was terminated on this rank"), "", "",
                                      "Send before terminate(); attach another stream for more"});
    }
    if (stream.reserved) {
        throw InvalidArgument(Problem{text("a reservation in ", stream.name(), " is still open"),
                                      "", "", "commit() it first; commit(0) gives it back"});
    }
    return *stream.producer;
}

void check_fixed(const StreamState& stream) {
    if (!stream.options.element.varies) {
        return;
    }
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

/// Waits for room, which is a stall.
void wait_for_room(StreamState& stream, const char* verb, const std::function<bool()>& found) {
    OwnBuffer own(stream, false);
    const auto done = [&] { return found() || (own.check(), false); };
    ++stream.counted.stalls;
    const Trace::Span span(stream.channel->trace.events.get(), Activity::Stalled, stream.number);
    const std::int64_t begin = now_ns();
    stream.channel->wait(text(verb, ' ', stream.name()), done);
    stream.counted.stalled_ns += now_ns() - begin;
}

/// Writes what there is room for now, and the rest when there is some: behind what was queued.
void begin(StreamState& stream, ProducerEnd& producer, const std::shared_ptr<Sending>& sending) {
    try {
        if (producer.has_queued() || !producer.advance(*sending)) {
            producer.queue(sending);
        }
    } catch (...) {
        // As in send_in_order().
        if (sending->begun()) {
            stream.channel->fail(std::current_exception());
        }
        throw;
    }
    stream.choose_fast();
}

/// Instead of waiting for room: a copy leaves when there is some.
void send_later(StreamState& stream, ProducerEnd& producer, const Sending& sending) {
    const auto kept =
        std::make_shared<std::vector<std::byte>>(sending.bytes.begin(), sending.bytes.end());
    const auto later = std::make_shared<Sending>(*kept, kept);
    later->kept = true;
    later->record = sending.record;
    begin(stream, producer, later);
}

/// Sends what was queued before, then `sending`. While it waits, an operation may send to the same
/// stream; that is queued behind.
void send_in_order(StreamState& stream, ProducerEnd& producer, Sending& sending) {
    try {
        if (!stream.channel->may_wait()) {
            return send_later(stream, producer, sending);
        }
        // No element is done at once: a wait would end with it still in the queue.
        if (sending.done() || (!producer.has_queued() && producer.advance(sending))) {
            return;
        }
        stream.fast = {};
        producer.queue({std::shared_ptr<void>(), &sending});
        wait_for_room(stream, "send to", [&] { return sending.done(); });
    } catch (...) {
        producer.drop(sending);
        // The consumer has a part of it: neither can the rest be sent, nor the whole once more.
        if (sending.begun()) {
            stream.channel->fail(std::current_exception());
        }
        throw;
    }
}

/// A link with room for `bytes`; null when no call may wait for one now.
move::Outlet* link_with_room(StreamState& stream, ProducerEnd& producer, std::size_t bytes) {
    if (producer.only() == nullptr &&
        stream.options.association.kind == Association::Kind::Choice) {
        throw InvalidArgument(
            Problem{"room cannot be reserved where elements choose their consumer", "",
                    "associations nearest, round robin and most room",
                    "Send the finished element instead"});
    }
    move::Outlet* outlet = nullptr;
    const auto found = [&] {
        if (producer.has_queued()) {
            return false;
        }
        outlet = producer.with_room(bytes);
        return outlet != nullptr;
    };
    if (!found() && stream.channel->may_wait()) {
        wait_for_room(stream, "reserve room in", found);
    }
    return outlet;
}

std::span<std::byte> open_reservation(StreamState& stream, Reservation reservation) {
    const std::size_t bytes = reservation.units * reservation.unit_bytes;
    std::byte* room = nullptr;
    if (reservation.outlet != nullptr) {
        room = reservation.outlet->try_lend(reservation.unit_bytes);
    } else {
        reservation.kept = std::make_shared<std::vector<std::byte>>(bytes);
        room = reservation.kept->data();
    }
    stream.reserved = std::move(reservation);
    stream.fast = {};
    return {room, bytes};
}

}  // namespace

void Stream::check_size(std::size_t bytes) const {
    const Element& element = state_->options.element;
    if (!element.varies && bytes == element.bytes) {
        return;
    }
    throw InvalidArgument(
        Problem{text("an element of ", state_->name(), " has another size"), text(bytes, " bytes"),
                text(element.varies ? "up to " : "", element.bytes, " bytes"), ""});
}

void Stream::send_all(const void* elements, Index count) {
    const progress::Served::Inside inside(state_->channel->served);
    ProducerEnd& producer = producer_of(*state_);
    check_fixed(*state_);
    Sending sending(elements_at(*state_, elements, count));
    send_in_order(*state_, producer, sending);
    state_->choose_fast();
}

void Stream::send_record(std::span<const std::byte> element) {
    const progress::Served::Inside inside(state_->channel->served);
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
    const progress::Served::Inside inside(state_->channel->served);
    static_cast<void>(producer_of(*state_));
    check_fixed(*state_);
    return start(
        std::make_shared<Sending>(elements_at(*state_, elements, count), std::move(owner)));
}

Pending Stream::isend_record(std::span<const std::byte> element,
                             std::shared_ptr<const void> owner) {
    const progress::Served::Inside inside(state_->channel->served);
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
    begin(*state_, *state_->producer, sending);
    return {state_.shared(), std::move(sending)};
}

std::span<std::byte> Stream::reserve(std::size_t bytes) {
    const progress::Served::Inside inside(state_->channel->served);
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
    const std::size_t needed = element.varies ? move::record_bytes(bytes) : element.bytes;
    move::Outlet* const outlet = link_with_room(*state_, producer, needed);
    if (outlet == nullptr || !element.varies) {  // a record gets its length when it is sent
        return open_reservation(*state_, {outlet, 1, element.varies ? bytes : needed});
    }
    const std::span<std::byte> room = open_reservation(*state_, {outlet, 1, needed});
    const std::uint64_t length = bytes;
    std::memcpy(room.data(), &length, sizeof length);
    return room.subspan(sizeof length, bytes);
}

std::span<std::byte> Stream::reserve_many(Index wanted) {
    const progress::Served::Inside inside(state_->channel->served);
    ProducerEnd& producer = producer_of(*state_);
    check_fixed(*state_);
    if (wanted < 1) {
        throw InvalidArgument(
            Problem{"a number of elements is out of range", text(wanted), "1 or more", ""});
    }
    if (state_->in_parts() && producer.only() == nullptr) {
        throw InvalidArgument(Problem{
            text("an element of ", state_->name(), " travels in parts, all to one consumer"),
            text(state_->options.element.bytes, " bytes"),
            text("up to ", part_bytes_max, " bytes where there are several consumers"),
            "Send the finished element instead"});
    }
    const std::size_t unit = state_->plan.unit_bytes;
    move::Outlet* const outlet = link_with_room(*state_, producer, unit);
    // A link is taken for one element where there are several.
    const std::size_t most = producer.only() == nullptr ? 1 : static_cast<std::size_t>(wanted);
    if (outlet == nullptr) {
        const std::size_t units = std::min(most, std::max<std::size_t>(1, part_bytes_max / unit));
        return open_reservation(*state_, {nullptr, units, unit});
    }
    std::byte* const room = outlet->try_lend(unit);
    const std::size_t units =  // the flusher may take back what is not reserved
        std::min(most, std::max<std::size_t>(1, outlet->room() / unit));
    state_->reserved = Reservation{outlet, units, unit};
    state_->fast = {};
    return {room, units * unit};
}

void Stream::commit(Index count) {
    const progress::Served::Inside inside(state_->channel->served);
    state_->channel->check_usable();
    if (!state_->reserved) {
        throw InvalidArgument(
            Problem{text("nothing is reserved in ", state_->name()), "", "", "reserve() first"});
    }
    const auto units = static_cast<Index>(state_->reserved->units);
    if (count < 0 || count > units) {
        throw InvalidArgument(Problem{"more elements are committed than were reserved", text(count),
                                      text("0 to ", units), ""});
    }
    const Reservation done = std::move(*state_->reserved);
    state_->reserved.reset();
    const bool varies = state_->options.element.varies;
    const std::size_t bytes = static_cast<std::size_t>(count) * done.unit_bytes;
    if (done.outlet != nullptr) {
        done.outlet->give_back(bytes);
        if (count == 0) {
            state_->producer->give_back_turn();
        }
        done.outlet->hurry();
        // The link may have been found empty meanwhile: no thread would look at it any more.
        if (done.outlet->room() == 0) {
            done.outlet->progress();
        }
    } else if (count > 0) {
        const auto later = std::make_shared<Sending>(std::span(*done.kept).first(bytes), done.kept);
        later->kept = true;
        later->record = varies;
        begin(*state_, *state_->producer, later);
    }
    if (varies) {
        state_->counted.sent_elements += static_cast<std::uint64_t>(count);
    }
    state_->choose_fast();
}

void Stream::flush() {
    const progress::Served::Inside inside(state_->channel->served);
    ProducerEnd& producer = producer_of(*state_);
    OwnBuffer own(*state_, true);
    // Where no call may wait, what is left here leaves by itself, as late as that is.
    if (!producer.advance_flush() && state_->channel->may_wait()) {
        state_->channel->wait(text("flush ", state_->name()),
                              [&] { return producer.advance_flush() || (own.check(), false); });
    }
    state_->choose_fast();
}

void Stream::terminate() {
    iterminate().wait();
}

Pending Stream::iterminate() {
    const progress::Served::Inside inside(state_->channel->served);
    if (state_->terminated) {
        return {};
    }
    if (!state_->terminating) {
        producer_of(*state_);
    }
    state_->channel->check_usable();
    state_->fast = {};
    state_->terminating = true;
    state_->advance_termination();
    return {state_.shared(), nullptr};
}

}  // namespace fluvial::stream
