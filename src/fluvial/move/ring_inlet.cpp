// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <vector>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/move/link.hpp"
#include "fluvial/move/ring.hpp"

namespace fluvial::move {

namespace {

/// Batches are not longer than this part of the window (when one unit is not), so that room comes
/// back while the consumer works; nor longer than an operation has in its cache. Shorter ones cost
/// more: between two of them the consumer looks at the clock and at its channel, which takes 5 to
/// 15 % of the time that 64 KiB take.
constexpr std::size_t batches_a_window = 16;
constexpr std::size_t batch_bytes_min = std::size_t{64} << 10;
constexpr std::size_t batch_bytes_max = std::size_t{256} << 10;

std::size_t batch_bytes(const LinkPlan& plan, std::size_t capacity) {
    if (plan.varies) {
        return capacity;
    }
    const std::size_t bytes = std::clamp(ring_window(plan, capacity) / batches_a_window,
                                         batch_bytes_min, batch_bytes_max);
    return std::max(plan.unit_bytes, bytes / plan.unit_bytes * plan.unit_bytes);
}

/// How often the producer's count is looked at: storing to it is cheap as long as its cache line
/// stays with the producer, and each look that finds a change takes the line away.
constexpr std::size_t worth_a_look_bytes = std::size_t{16} << 10;
constexpr std::int64_t pause_min_ns = 250;
constexpr std::int64_t pause_max_ns = 4000;

/// When the ring is empty the staging buffer is looked at this often, and what lies there is taken
/// when it is little, or the producer has paused, or it waited for long. A producer without a pause
/// clears the staging buffer soon, and a consumer that reads it only keeps the producer from that.
constexpr std::int64_t staging_every_ns = 4000;
constexpr std::uint64_t staging_little_bytes = 256;
constexpr std::int64_t staging_longest_ns = 50'000;
/// After so many looks in vain (some 20 us) a change is looked for without asking for the time.
constexpr int quiet = 64;

/// A copy of a staging buffer, as aligned as elements are in rings.
struct alignas(64) Staging {
    std::byte bytes[ring_staging_bytes];
};

class RingInlet final : public Inlet {
  public:
    RingInlet(const LinkPlan& plan, RingControl& ring, int producer, host::Bell* other)
        : ring_(ring),
          other_(other),
          producer_(producer),
          batch_(batch_bytes(plan, ring.capacity)),
          block_(ring_window(plan, ring.capacity) / 4) {}

    Arrival ready() override;
    void release(std::size_t bytes) override;
    bool ended() override;
    std::uint64_t depth() const override {
        return std::max(ring_.placed.load(std::memory_order_relaxed),
                        ring_.committed.load(std::memory_order_relaxed)) -
               released_;
    }
    std::uint64_t memory() const override { return ring_.capacity; }

  private:
    bool look();
    bool has_changed() const;
    void look_at_staging(std::int64_t now);
    void take_from_staging(std::uint64_t committed);
    void publish();

    RingControl& ring_;
    host::Bell* const other_;
    const int producer_;
    const std::size_t batch_;  ///< bytes of an arrival at most
    const std::size_t block_;  ///< memory goes back in blocks of this while there is more to do
    std::uint64_t released_ = 0;
    std::uint64_t given_back_ = 0;  ///< what the producer knows of released_
    std::uint64_t lap_start_ = 0;   ///< of the lap that is read
    std::uint64_t placed_ = 0;      ///< these three when last looked at
    std::uint64_t newest_lap_ = 0;
    std::uint64_t end_ = RingControl::none;
    std::int64_t look_ns_ = 0;  ///< not before
    std::int64_t pause_ns_ = pause_min_ns;

    std::unique_ptr<Staging> copy_ = std::make_unique<Staging>();
    std::uint64_t copy_start_ = 0;  ///< the counts of copy_
    std::uint64_t copy_end_ = 0;
    std::int64_t staging_look_ns_ = 0;  ///< not before
    std::int64_t staged_since_ns_ = 0;  ///< something lies there; 0: nothing
    std::uint64_t staged_seen_ = 0;     ///< committed when last looked at
    int quiet_looks_ = 0;               ///< in a row, at an empty ring and an empty staging buffer
};

Arrival RingInlet::ready() {
    if (released_ < copy_end_) {
        return {std::span(copy_->bytes)
                    .subspan(static_cast<std::size_t>(released_ - copy_start_),
                             static_cast<std::size_t>(copy_end_ - released_)),
                producer_, released_};
    }
    if (released_ >= placed_ && !look()) {
        publish();
        return {{}, producer_, released_};
    }
    if (released_ < copy_end_) {
        return ready();
    }
    if (newest_lap_ <= released_) {
        lap_start_ = newest_lap_;
    }
    const std::uint64_t end = newest_lap_ > lap_start_ ? std::min(newest_lap_, placed_) : placed_;
    const auto bytes = std::min(batch_, static_cast<std::size_t>(end - released_));
    return {{ring_.elements() + (released_ - lap_start_), bytes}, producer_, released_};
}

void RingInlet::release(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= std::max(placed_, copy_end_) - released_, bytes, released_, placed_);
    released_ += bytes;
    if (released_ - given_back_ >= block_) {
        publish();
    }
}

bool RingInlet::ended() {
    if (released_ >= placed_ && released_ >= copy_end_ && released_ != end_) {
        look();
    }
    return released_ == end_;
}

/// Since the last look. Lines that did not change are in this core's cache: of many rings most are
/// quiet, and the clock would take longer than all the rest.
bool RingInlet::has_changed() const {
    return ring_.placed.load(std::memory_order_relaxed) != placed_ ||
           ring_.committed.load(std::memory_order_relaxed) != staged_seen_ ||
           ring_.end.load(std::memory_order_relaxed) != end_;
}

/// Whether there is something new. The order matters: a lap is known before anything in it.
bool RingInlet::look() {
    if (quiet_looks_ >= quiet && !has_changed()) {
        return false;
    }
    const std::int64_t now = now_ns();
    if (now < look_ns_) {
        return false;
    }
    const std::uint64_t placed = ring_.placed.load(std::memory_order_acquire);
    newest_lap_ = ring_.lap_start.load(std::memory_order_relaxed);
    end_ = ring_.end.load(std::memory_order_acquire);
    const std::uint64_t brought = placed - placed_;
    placed_ = placed;
    if (brought >= worth_a_look_bytes) {
        pause_ns_ = std::max(pause_min_ns, pause_ns_ / 2);
    } else if (brought > 0) {
        pause_ns_ = std::min(pause_max_ns, pause_ns_ * 2);
    }
    // A line that did not change is still in this core's cache, and looking at it is free.
    look_ns_ = now + (brought > 0 ? pause_ns_ : pause_min_ns);
    if (brought > 0) {
        staging_look_ns_ = now + staging_every_ns;
        staged_since_ns_ = 0;
    }
    if (placed_ <= released_ && now >= staging_look_ns_) {
        look_at_staging(now);
        ++quiet_looks_;
    }
    if (brought > 0 || staged_since_ns_ != 0) {
        quiet_looks_ = 0;
    }
    return released_ < std::max(placed_, copy_end_);
}

void RingInlet::look_at_staging(std::int64_t now) {
    const std::uint64_t committed = ring_.committed.load(std::memory_order_acquire);
    staging_look_ns_ = now + (committed != staged_seen_ ? staging_every_ns : pause_min_ns);
    if (committed <= released_) {
        staged_seen_ = committed;
        staged_since_ns_ = 0;
        return;
    }
    if (staged_since_ns_ == 0) {
        staged_since_ns_ = now;
    }
    if (committed - released_ <= staging_little_bytes || committed == staged_seen_ ||
        now - staged_since_ns_ >= staging_longest_ns) {
        take_from_staging(committed);
        staged_since_ns_ = 0;
    }
    staged_seen_ = committed;
}

/// Copies [released_, committed) from the staging buffer. When the staging buffer was cleared
/// meanwhile the copy may be of anything and is thrown away (a sequence lock): then the elements
/// are in the ring.
void RingInlet::take_from_staging(std::uint64_t committed) {
    const std::uint64_t start = ring_.staging_start.load(std::memory_order_acquire);
    if (start > released_ || committed - start > ring_staging_bytes) {
        return;
    }
    const std::uint64_t lap = ring_.lap_start.load(std::memory_order_relaxed);
    std::memcpy(copy_->bytes, ring_.staging() + (released_ - start),
                static_cast<std::size_t>(committed - released_));
    std::atomic_thread_fence(std::memory_order_acquire);
    if (ring_.staging_start.load(std::memory_order_relaxed) != start) {
        return;
    }
    newest_lap_ = lap_start_ = lap;
    copy_start_ = released_;
    copy_end_ = committed;
}

void RingInlet::publish() {
    if (released_ != given_back_) {
        given_back_ = released_;
        ring_.released.store(released_, std::memory_order_release);
        if (released_ >= placed_) {
            ring(other_);  // sooner, it would be full again at once
        }
    }
}

}  // namespace

std::unique_ptr<Inlet> make_ring_inlet(const LinkPlan& plan, std::span<std::byte> memory,
                                       int producer, host::Bell* other) {
    return std::make_unique<RingInlet>(plan, *reinterpret_cast<RingControl*>(memory.data()),
                                       producer, other);
}

}  // namespace fluvial::move
