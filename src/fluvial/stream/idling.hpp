// SPDX-License-Identifier: Apache-2.0
/// What to do between two looks that found nothing.
#pragma once

#include <cstdint>

namespace fluvial::stream {

/// First spins, then yields the core, then naps, so that more ranks than cores do not crawl.
class Idling {
  public:
    void found_something() { looks_ = 0; }
    void rest();
    /// True about ten times a second, also while something is found again and again.
    bool time_to_look_around();

  private:
    int looks_ = 0;
    unsigned rounds_ = 0;
    std::int64_t looked_ns_ = 0;
};

}  // namespace fluvial::stream
