// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream_state.hpp"

#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/raised.hpp"
#include "fluvial/mpi/check.hpp"

namespace fluvial::stream {

namespace {

// Worked through before others get their turn.
constexpr std::size_t turn_bytes = 256 * 1024;

}  // namespace

void StreamState::handle(progress::ControlMessages& control,
                         const std::function<bool(const progress::ControlMessage&)>& taker) {
    for (const progress::Topic topic :
         {move::topic_link_closed, topic_done, topic_finish, topic_result, topic_query,
          topic_partial_wanted, topic_query_result}) {
        control.on(topic, taker);
    }
}

Statistics StreamState::statistics() const {
    Statistics now = counted;
    now.stream = name();
    now.rank = channel->rank;
    if (producer) {
        now.sent_bytes = producer->bytes();
        if (!plan.varies) {
            now.sent_elements = now.sent_bytes / options.element.bytes;
        }
    }
    if (consumer) {
        consumer->add_to(now);
        now.queries_answered = query ? query->answered() : 0;
    }
    return now;
}

bool StreamState::ended() const {
    const bool produced = !producer || terminated;
    const bool result_due = consumer || (producer && options.result_on_producers);
    return produced && (!result_due || outcome);
}

bool StreamState::settled() try {
    if (!ended() || answering || (consumer && consumer->working()) ||
        (producer && producer->choosing())) {
        return false;
    }
    const bool quiet = !producer || (producer->drained() && query->quiet());
    return quiet && (!consumer || consumer->drained());
} catch (const mpi::CallFailed&) {
    return false;  // which the next look at the link says, where others do not wait for a reply
}

std::size_t StreamState::work(std::size_t bytes_max) {
    try {
        return consumer->work(bytes_max);
    } catch (...) {
        channel->fail(std::current_exception());
        throw;
    }
}

bool StreamState::progress(bool processes, bool produces) {
    bool moved = false;
    if (consumer) {
        moved = answer_queries();
    }
    if (consumer && processes) {
        moved = work(turn_bytes) > 0 || moved;
    }
    try {
        if (producer && produces) {
            moved = producer->progress() || moved;
            if (terminating && !terminated) {
                moved = advance_termination() || moved;
            }
        }
        if (consumer) {
            moved = consumer->progress() || moved;
        }
    } catch (...) {
        channel->fail(std::current_exception());
        throw;
    }
    if (!consumer) {
        return moved;
    }
    if (!outcome && consumer->outcome()) {
        outcome = consumer->outcome();
        ended_ns = now_ns();
        for (const int rank : channel->producers) {
            const bool mine = channel->consumer_of[static_cast<std::size_t>(rank)] == channel->rank;
            if (!mine || rank == channel->rank || !options.result_on_producers) {
                continue;
            }
            channel->control->post(rank, topic_result, number, encode_outcome(*outcome));
        }
    }
    return moved;
}

bool StreamState::attend() {
    bool moved = consumer && answer_queries();
    return channel->failing([&] {
        if (producer) {
            moved = producer->progress() || moved;
            if (terminating && !terminated) {
                moved = advance_termination() || moved;
            }
        }
        if (consumer) {
            consumer->receive();
        }
        return moved;
    });
}

bool StreamState::answer_queries() {
    if (consumer->working() || answering) {
        return false;
    }
    const Raised raised(answering);
    return channel->failing([this] {
        return query->advance(
            {consumer->operation(), consumer->elements(), outcome ? &*outcome : nullptr});
    });
}

void StreamState::take(const progress::ControlMessage& message) {
    if (message.topic == topic_result) {
        outcome = decode_outcome(message.bytes);
    } else if (query->knows(message.topic)) {
        query->take(message);
    } else {
        consumer->take(message);
    }
}

void StreamState::choose_fast() {
    fast = {};
    if (channel->failure || !producer || terminating || producer->has_queued() || reserved ||
        options.element.varies || in_parts()) {
        return;
    }
    move::Outlet* const only = producer->only();
    if (only != nullptr && options.element.bytes < only->direct_from()) {
        fast = {only, options.element.bytes, &channel->lost_ranks.beats(), channel->looked_beat()};
    }
}

bool StreamState::advance_termination() {
    terminating = true;
    fast = {};
    terminated = producer->advance_termination();
    return terminated;
}

void StreamState::release_links() {
    fast = {};
    if (producer) {
        producer->release_links();
    }
    if (consumer) {
        consumer->release_links();
    }
    if (!std::exchange(links_released, true)) {
        memory.close();
    }
}

void StreamState::release() {
    counted = statistics();
    reserved.reset();
    release_links();
    producer.reset();
    consumer.reset();
    options.association.choose = nullptr;
}

void StreamState::abandon() noexcept {
    fast = {};
    if (consumer) {
        consumer->forget_operation();
    }
    if (producer) {
        producer->abandon();
    }
    options.association.choose = nullptr;
    memory.abandon();
}

}  // namespace fluvial::stream
