// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/stream/link.hpp"
#include "fluvial/stream/ring.hpp"

namespace fluvial::stream {

namespace {

/// Room is handed out in pieces of this, so that large elements flow through in parts.
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
/// A consumer that leaves the window full for longer does not merely take its turn.
constexpr std::int64_t patience_ns = 20'000;

class RingOutlet final : public Outlet {
  public:
    RingOutlet(const LinkPlan& plan, RingControl& ring)
        : ring_(ring),
          capacity_(ring.capacity),
          unit_bytes_(plan.unit_bytes),
          window_(std::min<std::size_t>(ring_window_bytes, capacity_)) {
        published_ = &ring.committed;
        cursor_ = end_ = ring.elements();
    }

    void close() override { ring_.end.store(committed_, std::memory_order_release); }

  private:
    std::byte* make_room(std::size_t bytes) override;

    std::size_t position() const { return static_cast<std::size_t>(committed_ - lap_start_); }
    void look(std::size_t bytes);
    bool widen(std::size_t bytes);

    RingControl& ring_;
    const std::size_t capacity_;
    const std::size_t unit_bytes_;
    std::uint64_t lap_start_ = 0;     ///< committed when this lap began
    std::uint64_t before_start_ = 0;  ///< the same of the lap before
    std::uint64_t released_ = 0;      ///< when last looked at
    std::size_t free_end_ = 0;  ///< memory from position() to here is free, when last looked at
    std::size_t window_;        ///< laps end here while the consumer keeps up
    std::int64_t full_since_ns_ = 0;  ///< 0: the window is not full
};

/// The consumer's count is looked at only when the room that is known is used up: its cache line
/// is the consumer's.
std::byte* RingOutlet::make_room(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= capacity_, bytes, capacity_);
    if (bytes > window_ / 2) {
        window_ = bytes > capacity_ / 2 ? capacity_ : 2 * bytes;
    }
    if (position() + bytes > std::min(free_end_, window_)) {
        look(bytes);
        if (position() + bytes > std::min(free_end_, window_) && !widen(bytes)) {
            return nullptr;
        }
    }
    full_since_ns_ = 0;
    const std::size_t free = std::min(free_end_, window_) - position();
    const std::size_t piece = std::min(free, std::max(bytes, piece_bytes));
    cursor_ = ring_.elements() + position();
    end_ = cursor_ + std::max(bytes, piece / unit_bytes_ * unit_bytes_);
    return cursor_;
}

/// Takes note of what was released and begins a new lap when there is no room for `bytes` in the
/// old one but at the start.
void RingOutlet::look(std::size_t bytes) {
    released_ = ring_.released.load(std::memory_order_acquire);
    const bool here = released_ >= lap_start_;  // the consumer has finished the lap before
    const bool empty = released_ == committed_;
    if (here && position() > 0 &&
        (empty || (position() + bytes > window_ && released_ - lap_start_ >= bytes))) {
        if (empty) {
            window_ = std::max(window_ / 2, std::min(ring_window_bytes, capacity_));
            window_ = std::max(window_, std::min(2 * bytes, capacity_));
        }
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
    if (position() + bytes > free_end_) {
        return false;
    }
    const std::int64_t now = now_ns();
    if (full_since_ns_ == 0) {
        full_since_ns_ = now;
    }
    if (now - full_since_ns_ < patience_ns) {
        return false;
    }
    window_ = std::min(capacity_, std::max(2 * window_, position() + bytes));
    return true;
}

}  // namespace

std::unique_ptr<Outlet> make_ring_outlet(const LinkPlan& plan, std::span<std::byte> memory) {
    return std::make_unique<RingOutlet>(plan, *reinterpret_cast<RingControl*>(memory.data()));
}

}  // namespace fluvial::stream
