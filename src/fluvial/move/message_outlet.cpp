// SPDX-License-Identifier: Apache-2.0
/// Where elements are written: segments of batches.
#include "fluvial/move/message_outlet.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/move/batch_memory.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::move {

namespace {

/// Not that of rings: MPI may copy batches once more.
LastChoice& last_batch_choice() {
    static LastChoice last{copy_methods().size() - 1};
    return last;
}

}  // namespace

MessageOutlet::MessageOutlet(const LinkPlan& plan, const mpi::Comm& comm,
                             progress::ControlMessages& control, int peer)
    : CopyingOutlet(
          last_batch_choice(),
          static_cast<std::uint64_t>(MessageFlow(plan).batches) * MessageFlow(plan).batch_stride(),
          plan.unit_bytes),
      flow_(plan),
      comm_(comm),
      control_(control),
      peer_(peer),
      stream_(plan.stream),
      buffer_bytes_(plan.buffer_bytes),
      tick_ns_(std::max<std::int64_t>(20'000, static_cast<std::int64_t>(plan.latency_s * 5e8))),
      flusher_(mpi::running()),
      background_(flusher_ && mpi::thread_level() == mpi::ThreadLevel::Multiple),
      queue_(comm, peer, data_tag + plan.stream),
      credits_(flow_.credits) {
    published_ = &visible_;
    direct_from_ = flow_.direct_bytes;
    if (flusher_) {
        progress::ServiceThread::of_process().add(*this);
    }
    if (flusher_ && !background_) {
        progress::ServiceThread::without_mpi().add(*this);
    }
}

MessageOutlet::~MessageOutlet() {
    abandon();
    if (credits_coming_) {
        credits_coming_->message.abandon();
    }
    if (credits_ < flow_.credits) {  // the consumer has not taken all, or its credits are to come
        comm_.leave_messages();
    }
}

void MessageOutlet::abandon() noexcept {
    if (!std::exchange(flusher_, false)) {
        return;
    }
    progress::ServiceThread::of_process().remove(*this);
    if (!background_) {
        progress::ServiceThread::without_mpi().remove(*this);
    }
}

void MessageOutlet::allocate() {
    const auto count = static_cast<std::size_t>(flow_.batches);
    memory_ = allocate_batches(count * flow_.batch_stride(), buffer_bytes_);
    batches_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        batches_[i].memory = memory_.get() + i * flow_.batch_stride();
    }
    batches_[0].begin = committed_;
    cursor_ = batches_[0].memory;
}

std::byte* MessageOutlet::make_room(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= flow_.slot_bytes, bytes, flow_.slot_bytes);
    const std::lock_guard lock(mutex_);
    rethrow();
    if (mpi::ending()) {
        mpi::check_running();
    }
    if (batches_.empty()) {
        allocate();
    }
    if (shut_ && !background_) {
        hurries_ = true;
        send_early(committed_, now_ns());
    }
    if (shut_ && staging_.in_use() && static_cast<std::size_t>(staging_.end() - cursor_) >= bytes) {
        end_ = staging_.end();  // what was reserved when the flusher came stays where it is
    } else {
        leave_staging();
        if (!find_room(bytes)) {
            return nullptr;
        }
        hand_out(bytes);
    }
    if (std::exchange(shut_, false)) {
        call_flusher();
    }
    return cursor_;
}

/// After a pause the next element is to leave at once, which takes a thread that sends it.
std::byte* MessageOutlet::make_room_at_once(std::size_t bytes) {
    if (!background_) {
        const std::lock_guard lock(mutex_);
        if (shut_) {
            return nullptr;
        }
    }
    return make_room(bytes);
}

/// Behind cursor_, or in another batch. One that the consumer's core reads leaves when it is full.
bool MessageOutlet::find_room(std::size_t bytes) {
    const auto fits = [&] { return static_cast<std::size_t>(batch_end() - cursor_) >= bytes; };
    if (flow_.fetched && fits()) {
        return true;
    }
    cut();
    send_until(committed_);
    if (!shut_ || !fits()) {
        rewind();  // as above
    }
    return fits() || next_batch();
}

/// What there is at cursor_, in the batch or in the staging buffer.
void MessageOutlet::hand_out(std::size_t bytes) {
    const bool direct = !flow_.fetched || passes_staging(bytes) || policy_.stores_are_best();
    begin_piece();
    auto most = static_cast<std::size_t>(batch_end() - cursor_);
    if (flow_.fetched) {
        most = std::min(most, direct ? piece_bytes : staging_buffer_bytes);
    }
    const std::size_t room = whole_units(bytes, most);
    if (!direct) {
        cursor_ = staging_.open(committed_, cursor_, room);
    }
    end_ = cursor_ + room;
}

void MessageOutlet::leave_staging() {
    if (staging_.in_use()) {
        cursor_ = end_ = staging_.close(committed_, policy_);
    }
}

/// Messages that MPI has copied away leave their batch free at once, while it is in the cache.
void MessageOutlet::rewind() {
    if (sent_ < committed_ || queue_.completed() < queue_.posted()) {
        return;
    }
    sending_ = filling_;
    batch(filling_).begin = committed_;
    cursor_ = batch(filling_).memory;
}

bool MessageOutlet::next_batch() {
    Batch& full = batch(filling_);
    full.end = committed_;
    Batch& next = batch(filling_ + 1);
    const bool used = filling_ + 1 >= batches_.size();
    if (used && (sent_ < next.end || queue_.completed() < next.last_message)) {
        return false;
    }
    next.begin = committed_;
    next.last_message = 0;
    cursor_ = next.memory;
    ++filling_;
    if (sent_ == committed_) {
        sending_ = filling_;
    }
    return true;
}

std::optional<mpi::Request> MessageOutlet::try_direct(std::span<const std::byte> unit,
                                                      std::shared_ptr<const void> owner) {
    FLUVIAL_ASSERT(unit.size() <= flow_.slot_bytes, unit.size(), flow_.slot_bytes);
    const std::lock_guard lock(mutex_);
    rethrow();
    leave_staging();
    cut();
    send_until(committed_);
    if (sent_ < committed_ || (credits_ == 0 && !take_credits())) {
        return std::nullopt;
    }
    if (!owner) {
        owner = {std::shared_ptr<const void>(), unit.data()};
    }
    mpi::Request request = comm_.isend(unit, std::move(owner), peer_, data_tag + stream_);
    --credits_;
    committed_ += unit.size();
    sent_ = committed_;
    visible_.store(committed_, std::memory_order_release);
    if (!batches_.empty()) {
        batch(filling_).begin += unit.size();
    }
    return request;
}

std::unique_ptr<Outlet> make_message_outlet(const LinkPlan& plan, const mpi::Comm& comm,
                                            progress::ControlMessages& control, int peer) {
    check_tags(plan);
    return std::make_unique<MessageOutlet>(plan, comm, control, peer);
}

}  // namespace fluvial::move
