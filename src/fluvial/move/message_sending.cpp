// SPDX-License-Identifier: Apache-2.0
/// How what was written leaves: by the thread that calls, and by the flusher.
#include <algorithm>
#include <utility>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/move/message_outlet.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::move {

namespace {

/// How long a link without new elements is still looked at, for what was reserved before the
/// flusher saw it empty and committed after that. After longer ones the appender calls progress().
constexpr int slow_visits_max = 64;
constexpr std::int64_t slower = 16;

}  // namespace

/// Messages consist of whole units: they end where the appender came for room.
void MessageOutlet::cut() {
    if (committed_ > sent_ && (cuts_.empty() || cuts_.back() < committed_)) {
        cuts_.push_back(committed_);
    }
}

void MessageOutlet::send_until(std::uint64_t limit) {
    staging_.put_in_place(limit, policy_);
    while (sent_ < limit && (credits_ > 0 || take_credits())) {
        const std::uint64_t end = cuts_.empty() ? limit : std::min(limit, cuts_.front());
        Batch& from = batch(sending_);
        queue_.post({from.memory + (sent_ - from.begin), static_cast<std::size_t>(end - sent_)},
                    memory_);
        from.last_message = queue_.posted();
        sent_ = end;
        --credits_;
        if (!cuts_.empty() && cuts_.front() == end) {
            cuts_.pop_front();
        }
        if (sending_ < filling_ && sent_ == from.end) {
            ++sending_;
        }
    }
}

/// As long as credits abound a short message costs little; otherwise what is old enough leaves.
void MessageOutlet::send_early(std::uint64_t visible, std::int64_t now) {
    if (sent_ < visible) {
        if (credits_ <= flow_.credits - flow_.credits_back()) {
            take_credits();
        }
        if (credits_ > flow_.credits / 2 || (sent_ < seen_ && now - seen_ns_ >= tick_ns_)) {
            send_until(visible);
        }
    }
    if (seen_ < visible && (seen_ <= sent_ || now - seen_ns_ >= tick_ns_)) {
        seen_ = visible;
        seen_ns_ = now;
    }
}

bool MessageOutlet::take_credits() {
    for (;;) {
        if (!credits_coming_) {
            credits_coming_ = comm_.try_recv(peer_, credit_tag + stream_);
        }
        if (!credits_coming_ || !credits_coming_->message.test()) {
            return credits_ > 0;
        }
        const auto bytes = credits_coming_->message.take();
        credits_ += ByteReader(bytes).get<std::int32_t>();
        credits_coming_.reset();
    }
}

void MessageOutlet::flush() {
    const std::lock_guard lock(mutex_);
    rethrow();
    cut();
    send_until(committed_);
}

bool MessageOutlet::flushed() const {
    const std::lock_guard lock(mutex_);
    return sent_ == committed_;
}

void MessageOutlet::progress() {
    const std::lock_guard lock(mutex_);
    rethrow();
    queue_.completed();
    if (sent_ == committed_) {
        return;
    }
    send_early(committed_, now_ns());
    if (sent_ < committed_ && shut_) {
        call_flusher();
    }
}

void MessageOutlet::call_flusher() {
    if (!flusher_) {
        return;
    }
    progress::ServiceThread::of_process().call(*this, tick_ns_);
    if (!background_) {
        progress::ServiceThread::without_mpi().call(*this, tick_ns_);
    }
}

/// The appender's next element comes by make_room().
void MessageOutlet::end_segment() {
    if (!batches_.empty()) {
        end_ = staging_.in_use() ? staging_.begin() : batch(filling_).memory;
    }
    shut_ = true;
}

/// Without MPI: what lies here is old enough to leave.
std::optional<std::int64_t> MessageOutlet::shut() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        return tick_ns_;
    }
    seen_ = visible_.load(std::memory_order_acquire);
    seen_ns_ = now_ns() - tick_ns_;
    end_segment();
    return std::nullopt;
}

std::optional<std::int64_t> MessageOutlet::visit(const progress::ServiceThread& by) try {
    if (!by.calls_mpi()) {
        return shut();
    }
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        return tick_ns_;
    }
    if (failure_ || !mpi::running()) {
        return std::nullopt;
    }
    const std::uint64_t visible = visible_.load(std::memory_order_acquire);
    const bool still = visible == seen_ && visible == sent_;
    send_early(visible, now_ns());
    if (!still || queue_.completed() < queue_.posted()) {
        slow_visits_ = 0;
        return tick_ns_;
    }
    end_segment();
    if (++slow_visits_ > slow_visits_max) {
        return std::nullopt;
    }
    return tick_ns_ * slower;
} catch (...) {
    failure_ = std::current_exception();
    return std::nullopt;
}

void MessageOutlet::rethrow() {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
}

void MessageOutlet::close() {
    FLUVIAL_ASSERT(flushed(), committed_);
    ByteWriter count;
    count.put<std::uint64_t>(committed_);
    control_.post(peer_, topic_link_closed, stream_, count.view());
    closed_ = true;
}

bool MessageOutlet::finished() {
    const std::lock_guard lock(mutex_);
    return closed_ && queue_.completed() == queue_.posted();
}

bool MessageOutlet::drained() {
    const std::lock_guard lock(mutex_);
    if (credits_ < flow_.credits) {
        take_credits();
    }
    return credits_ == flow_.credits;
}

}  // namespace fluvial::move
