// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/consumer_end.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/raised.hpp"
#include "fluvial/move/record.hpp"

namespace fluvial::stream {

namespace {

// Handed to an operation at a time: its memory goes back early, and the next links get their turn.
constexpr std::size_t batch_bytes = 256 * 1024;
constexpr std::int64_t depth_every_ns = 100'000;

/// The length of the first records of `bytes`: as many as end before `most`, one at least.
std::size_t whole_records(std::span<const std::byte> bytes, std::size_t most) {
    if (bytes.size() <= most) {
        return bytes.size();
    }
    std::size_t end = 0;
    while (end < bytes.size()) {
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data() + end, sizeof length);
        if (length == move::skip_record) {
            return bytes.size();
        }
        const std::size_t next = end + move::record_bytes(static_cast<std::size_t>(length));
        if (next > most) {
            return end > 0 ? end : next;
        }
        end = next;
    }
    return end;
}

}  // namespace

ConsumerEnd::ConsumerEnd(const move::LinkPlan& plan, const Element& element,
                         std::vector<std::unique_ptr<move::Inlet>> inlets,
                         move::MessageInlet* messages, std::unique_ptr<Operation> operation,
                         Ending ending, Trace* trace)
    : plan_(plan),
      element_(element),
      inlets_(std::move(inlets)),
      messages_(messages),
      operation_(std::move(operation)),
      ending_(std::move(ending)),
      trace_(trace) {}

std::size_t ConsumerEnd::work(std::size_t bytes_max) {
    if (working_ || operation_ == nullptr || ending_.begun()) {
        return 0;
    }
    const Raised raised(working_);
    std::size_t done = 0;
    std::size_t empty = 0;  // inlets in a row
    for (std::size_t i = 0; empty < inlets_.size(); ++i) {
        // All links get their turn; short messages several, or looking around would cost most.
        if (i >= inlets_.size() && done >= batch_bytes) {
            break;
        }
        const std::size_t share = std::min(batch_bytes, bytes_max - std::min(bytes_max, done));
        if (done > 0 && share < plan_.unit_bytes) {
            break;
        }
        move::Inlet& inlet = *inlets_[turn_++ % inlets_.size()];
        const move::Arrival arrival = inlet.ready();
        if (arrival.bytes.empty()) {
            ++empty;
            continue;
        }
        empty = 0;
        const std::size_t most = std::max(share - share % plan_.unit_bytes, plan_.unit_bytes);
        const std::size_t n = plan_.varies ? whole_records(arrival.bytes, most)
                                           : std::min(arrival.bytes.size(), most);
        const Batch batch{arrival.bytes.data(), n, arrival.producer, arrival.first};
        const std::int64_t begin_ns = now_ns();
        {
            const Trace::Span span(trace_, Activity::Processing, plan_.stream);
            operation_->absorb(batch);
        }
        count(batch, begin_ns);
        inlet.release(n);
        done += n;
    }
    idle_ = done == 0;
    return done;
}

void ConsumerEnd::count(const Batch& batch, std::int64_t begin_ns) {
    const std::int64_t now = now_ns();
    bytes_ += batch.bytes;
    ++batches_;
    processing_ns_ += now - begin_ns;
    if (now - depth_seen_ns_ >= depth_every_ns) {
        depth_seen_ns_ = now;
        depth_max_ = std::max(depth_max_, depth());
    }
    if (plan_.varies) {
        for_each_record(batch, [&](std::span<const std::byte>) { ++records_; });
    }
}

std::uint64_t ConsumerEnd::elements() const {
    return plan_.varies ? records_ : bytes_ / element_.bytes;
}

void ConsumerEnd::give_back() {
    if (lender_ == nullptr) {
        return;
    }
    lending_.reset();
    count(lent_, lent_ns_);
    lender_->release(lent_.bytes);
    lender_ = nullptr;
}

Batch ConsumerEnd::lend() {
    give_back();
    idle_ = true;
    for (std::size_t i = 0; i < inlets_.size(); ++i) {
        move::Inlet& inlet = *inlets_[turn_++ % inlets_.size()];
        const move::Arrival arrival = inlet.ready();
        if (arrival.bytes.empty()) {
            continue;
        }
        idle_ = false;
        lender_ = &inlet;
        lending_.emplace(trace_, Activity::Processing, plan_.stream);
        lent_ns_ = now_ns();
        lent_ = {arrival.bytes.data(), arrival.bytes.size(), arrival.producer, arrival.first};
        return lent_;
    }
    return {};
}

bool ConsumerEnd::all_ended() {
    return lender_ == nullptr && std::all_of(inlets_.begin(), inlets_.end(),
                                             [](const auto& inlet) { return inlet->ended(); });
}

bool ConsumerEnd::progress() {
    receive();
    if (working_) {
        return false;
    }
    const Raised raised(working_);  // the operation may wait in the functions below, too
    bool moved = false;
    if (!ending_.begun() && idle_ && all_ended()) {
        if (operation_) {
            operation_->finish_local();
        }
        ending_.begin(operation_.get(), elements());
        moved = true;
    }
    return ending_.advance(operation_.get()) || moved;
}

bool ConsumerEnd::drained() {
    return std::all_of(inlets_.begin(), inlets_.end(),
                       [](const auto& inlet) { return inlet->drained(); });
}

void ConsumerEnd::release_links() {
    messages_ = nullptr;
    inlets_.clear();
}

void ConsumerEnd::take(const progress::ControlMessage& message) {
    if (message.topic == move::topic_link_closed) {
        if (messages_ != nullptr) {
            messages_->take(message);
        }
    } else {
        ending_.take(message);
    }
}

void ConsumerEnd::add_to(Statistics& statistics) const {
    statistics.elements = elements();
    statistics.bytes = bytes_;
    statistics.batches = batches_;
    statistics.processing_ns = processing_ns_;
    statistics.depth_bytes = depth();
    statistics.depth_bytes_max = std::max(depth_max_, statistics.depth_bytes);
    statistics.memory_bytes = memory();
}

std::uint64_t ConsumerEnd::depth() const {
    std::uint64_t bytes = 0;
    for (const auto& inlet : inlets_) {
        bytes += inlet->depth();
    }
    return bytes;
}

std::uint64_t ConsumerEnd::memory() const {
    std::uint64_t bytes = 0;
    for (const auto& inlet : inlets_) {
        bytes += inlet->memory();
    }
    return bytes;
}

}  // namespace fluvial::stream
