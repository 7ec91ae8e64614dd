// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/move/copying_outlet.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/move/ring.hpp"

namespace fluvial::move {

namespace {

/// A consumer that leaves the window full for longer does not merely take its turn.
constexpr std::int64_t patience_ns = 20'000;
/// Where ranks share cores, turns last milliseconds.
constexpr std::int64_t oversubscribed_patience_ns = 20'000'000;

class RingOutlet final : public CopyingOutlet {
  public:
    RingOutlet(const LinkPlan& plan, RingControl& ring, host::Bell* other)
        : CopyingOutlet(last_choice(), ring_window(plan, ring.capacity), plan.unit_bytes),
          ring_(ring),
          other_(other),
          capacity_(ring.capacity),
          window_least_(ring_window(plan, capacity_)),
          patience_ns_(plan.oversubscribed ? oversubscribed_patience_ns : patience_ns),
          window_(window_least_) {
        published_ = &ring.placed;
        cursor_ = end_ = ring.elements();
    }

    void flush() override {
        clear_staging();
        announce(0);
    }
    void close() override {
        clear_staging();
        ring_.end.store(committed_, std::memory_order_release);
        host::ring(other_);
    }

  private:
    std::byte* make_room(std::size_t bytes) override;

    std::size_t position() const { return static_cast<std::size_t>(committed_ - lap_start_); }
    std::size_t usable_end() const { return std::min(free_end_, window_); }
    bool writes_in_place() const override { return !is_staging(); }
    bool is_staging() const { return staged_from_ != RingControl::none; }
    void clear_staging();
    void announce(std::size_t least);
    bool find_room(std::size_t bytes);
    void look(std::size_t bytes);
    bool widen(std::size_t bytes);

    RingControl& ring_;
    host::Bell* const other_;
    const std::size_t capacity_;
    const std::size_t window_least_;
    const std::int64_t patience_ns_;
    std::uint64_t lap_start_ = 0;     ///< committed when this lap began
    std::uint64_t before_start_ = 0;  ///< the same of the lap before
    std::uint64_t released_ = 0;      ///< when last looked at
    std::size_t free_end_ = 0;     ///< memory from position() to here is free, when last looked at
    std::size_t window_;           ///< laps end here while the consumer keeps up
    std::uint64_t announced_ = 0;  ///< committed when the consumer was last rung for
    std::int64_t full_since_ns_ = 0;  ///< 0: there was room
    std::uint64_t staged_from_ =
        RingControl::none;  ///< first count that is in the staging buffer alone
    std::uint64_t staging_start_ =
        RingControl::none;  ///< count of the first byte of the staging buffer
};

std::byte* RingOutlet::make_room(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= capacity_, bytes, capacity_);
    const bool direct = passes_staging(bytes);
    clear_staging();
    announce(window_ / 2);
    if (!find_room(bytes)) {
        announce(0);
        cursor_ = end_ = ring_.elements() + position();
        published_ = &ring_.placed;
        staged_from_ = RingControl::none;
        return nullptr;
    }
    begin_piece();
    const std::size_t most =
        direct ? piece_bytes : std::min(ring_staging_bytes, std::max(unit_bytes_, capacity_ / 4));
    const std::size_t free = std::min(usable_end() - position(), std::max(bytes, most));
    const std::size_t room = whole_units(bytes, free);
    if (direct) {
        staged_from_ = RingControl::none;
        published_ = &ring_.placed;
        cursor_ = ring_.elements() + position();
    } else {
        staged_from_ = staging_start_ = committed_;
        ring_.committed.store(committed_, std::memory_order_relaxed);
        ring_.staging_start.store(committed_, std::memory_order_release);
        std::atomic_thread_fence(
            std::memory_order_release);  // before elements in the staging buffer
        published_ = &ring_.committed;
        cursor_ = ring_.staging();
    }
    end_ = cursor_ + room;
    return cursor_;
}

/// What is in the staging buffer alone goes to its place in the ring.
void RingOutlet::clear_staging() {
    if (!is_staging() || staged_from_ == committed_) {
        return;
    }
    policy_.copy(ring_.elements() + (staged_from_ - lap_start_),
                 ring_.staging() + (staged_from_ - staging_start_),
                 static_cast<std::size_t>(committed_ - staged_from_));
    ring_.placed.store(committed_, std::memory_order_release);
    staged_from_ = committed_;
}

/// Wakes the consumer when more than `least` bytes came since that was last done.
void RingOutlet::announce(std::size_t least) {
    if (other_ == nullptr || committed_ - announced_ <= least) {
        return;
    }
    announced_ = committed_;
    other_->ring();
}

/// The consumer's count is looked at only when the room that is known is used up: its cache line
/// is the consumer's.
bool RingOutlet::find_room(std::size_t bytes) {
    if (bytes > window_ / 2) {
        window_ = bytes > capacity_ / 2 ? capacity_ : 2 * bytes;
    }
    if (position() + bytes > usable_end()) {
        look(bytes);
        if (position() + bytes > usable_end() && !widen(bytes)) {
            return false;
        }
    }
    full_since_ns_ = 0;
    return true;
}

/// Takes note of what was released, and begins a new lap when there is room for `bytes` at the
/// start but not here.
void RingOutlet::look(std::size_t bytes) {
    released_ = ring_.released.load(std::memory_order_acquire);
    const bool here = released_ >= lap_start_;  // the consumer has finished the lap before
    const bool empty = released_ == committed_;
    if (here && position() > 0 &&
        (empty || (position() + bytes > window_ && released_ - lap_start_ >= bytes))) {
        if (empty) {
            window_ = std::max(window_ / 2, window_least_);
            window_ = std::max(window_, std::min(2 * bytes, capacity_));
        }
        // The rank that reads the staging buffer must not take the new lap for that of what is in
        // the staging buffer still.
        ring_.staging_start.store(RingControl::none, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        before_start_ = lap_start_;
        lap_start_ = committed_;
        ring_.lap_start.store(lap_start_, std::memory_order_relaxed);  // commit() releases it
    }
    free_end_ =
        released_ >= lap_start_ ? capacity_ : static_cast<std::size_t>(released_ - before_start_);
}

/// The window is full. A burst may go on into memory that is not in the caches, but not at once: a
/// consumer at the speed of memory soon makes room inside the window.
bool RingOutlet::widen(std::size_t bytes) {
    const std::int64_t now = now_ns();
    if (full_since_ns_ == 0) {
        full_since_ns_ = now;
    }
    if (position() + bytes > free_end_ || now - full_since_ns_ < patience_ns_) {
        return false;
    }
    window_ = std::min(capacity_, std::max(2 * window_, position() + bytes));
    return true;
}

}  // namespace

std::unique_ptr<Outlet> make_ring_outlet(const LinkPlan& plan, std::span<std::byte> memory,
                                         host::Bell* other) {
    return std::make_unique<RingOutlet>(plan, *reinterpret_cast<RingControl*>(memory.data()),
                                        other);
}

}  // namespace fluvial::move
