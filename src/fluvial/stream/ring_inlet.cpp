// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/stream/link.hpp"
#include "fluvial/stream/ring.hpp"

namespace fluvial::stream {

namespace {

/// Batches are not longer (when one unit is not), so that room comes back while the consumer works.
constexpr std::size_t batch_bytes = std::size_t{64} << 10;

/// How often the producer's count is looked at. It is stored with every commit, which is cheap as
/// long as its cache line stays with the producer; each look takes the line away.
constexpr std::size_t worth_a_look_bytes = std::size_t{16} << 10;
constexpr std::int64_t pause_min_ns = 250;
constexpr std::int64_t pause_max_ns = 4000;

class RingInlet final : public Inlet {
  public:
    RingInlet(const LinkPlan& plan, RingControl& ring, int producer)
        : ring_(ring),
          producer_(producer),
          batch_(plan.varies
                     ? static_cast<std::size_t>(ring.capacity)
                     : std::max(plan.unit_bytes, batch_bytes / plan.unit_bytes * plan.unit_bytes)),
          block_(std::min<std::size_t>(ring_window_bytes, ring.capacity) / 4) {}

    Arrival ready() override;
    void release(std::size_t bytes) override;
    bool ended() override;
    std::uint64_t depth() const override {
        return ring_.committed.load(std::memory_order_relaxed) - released_;
    }
    std::uint64_t memory() const override { return ring_.capacity; }

  private:
    void look();
    void publish();

    RingControl& ring_;
    const int producer_;
    const std::size_t batch_;  ///< bytes of an arrival at most
    const std::size_t block_;  ///< memory goes back in blocks of this while there is more to do
    std::uint64_t released_ = 0;
    std::uint64_t given_back_ = 0;  ///< what the producer knows of released_
    std::uint64_t lap_start_ = 0;   ///< of the lap that is read
    std::uint64_t committed_ = 0;   ///< these three when last looked at
    std::uint64_t newest_lap_ = 0;
    std::uint64_t end_ = RingControl::open;
    std::int64_t look_ns_ = 0;  ///< not before
    std::int64_t pause_ns_ = pause_min_ns;
};

Arrival RingInlet::ready() {
    if (released_ == committed_) {
        look();
        if (released_ == committed_) {
            publish();
            return {{}, producer_, released_};
        }
    }
    if (released_ == newest_lap_) {
        lap_start_ = newest_lap_;
    }
    const std::uint64_t end =
        newest_lap_ > lap_start_ ? std::min(newest_lap_, committed_) : committed_;
    const auto bytes = std::min(batch_, static_cast<std::size_t>(end - released_));
    return {{ring_.elements() + (released_ - lap_start_), bytes}, producer_, released_};
}

void RingInlet::release(std::size_t bytes) {
    FLUVIAL_ASSERT(bytes <= committed_ - released_, bytes, committed_ - released_);
    released_ += bytes;
    if (released_ - given_back_ >= block_) {
        publish();
    }
}

bool RingInlet::ended() {
    if (released_ == committed_ && released_ != end_) {
        look();
    }
    return released_ == end_;
}

/// The order matters: a lap is known before anything that was committed in it.
void RingInlet::look() {
    const std::int64_t now = now_ns();
    if (now < look_ns_) {
        return;
    }
    const std::uint64_t committed = ring_.committed.load(std::memory_order_acquire);
    newest_lap_ = ring_.lap_start.load(std::memory_order_relaxed);
    end_ = ring_.end.load(std::memory_order_acquire);
    const std::uint64_t brought = committed - committed_;
    committed_ = committed;
    if (brought >= worth_a_look_bytes) {
        pause_ns_ = std::max(pause_min_ns, pause_ns_ / 2);
    } else if (brought > 0) {
        pause_ns_ = std::min(pause_max_ns, pause_ns_ * 2);
    }
    // A line that did not change is still in this core's cache, and looking at it is free.
    look_ns_ = now + (brought > 0 ? pause_ns_ : pause_min_ns);
}

void RingInlet::publish() {
    if (released_ != given_back_) {
        given_back_ = released_;
        ring_.released.store(released_, std::memory_order_release);
    }
}

}  // namespace

std::unique_ptr<Inlet> make_ring_inlet(const LinkPlan& plan, std::span<std::byte> memory,
                                       int producer) {
    return std::make_unique<RingInlet>(plan, *reinterpret_cast<RingControl*>(memory.data()),
                                       producer);
}

}  // namespace fluvial::stream
