// SPDX-License-Identifier: Apache-2.0
/// What to do between two looks that found nothing.
#pragma once

#include <cstdint>

#include "fluvial/host/doorbell.hpp"

namespace fluvial::progress {

/// First spins, then yields the core, then naps, so that more ranks than cores do not crawl: then
/// it naps soon and for long, because ranks that look for work keep ranks that have work from doing
/// it (25 producers and a consumer on two cores, 8 B a message: 0.12 GB/s without, 0.55 GB/s with
/// that; rings and bells, 4 KiB: 4 to 7 GB/s).
class BackOff {
  public:
    /// With `ranks_per_core` ranks to a core (oversubscription.hpp). With a `bell` (own; may be
    /// null) naps end when it rings, and are long when nothing but what rings it is waited for
    /// (`rung`).
    explicit BackOff(double ranks_per_core = 1, host::Bell* bell = nullptr, bool rung = false);
    ~BackOff() { found_something(); }
    BackOff(const BackOff&) = delete;
    BackOff& operator=(const BackOff&) = delete;
    void found_something() {
        looks_ = 0;
        if (armed_) {
            bell_->disarm();
        }
        armed_ = false;
    }
    /// `briefly`: without bell, and for no longer than a nap, because there is more to look at.
    void rest(bool briefly = false);
    /// The caller has slept by other means, for a millisecond or more.
    void slept() { rounds_ = 0; }
    /// True about ten times a second, also while something is found again and again.
    bool time_to_look_around();

  private:
    void nap(bool briefly);

    host::Bell* bell_;
    bool armed_ = false;
    int spins_;
    int yields_;  ///< looks, spins included
    long nap_ns_;
    int looks_ = 0;
    unsigned rounds_ = 1;  ///< not 0: a wait that is over at once reads no clock
    std::int64_t looked_ns_ = 0;
};

}  // namespace fluvial::progress
