// SPDX-License-Identifier: Apache-2.0
/// The one copy that a put makes, from the user's array into memory that a reader on another core
/// has just read.
///
/// An ordinary store to such a line first fetches it from the other core. Where the two cores share
/// a cache that costs little; where they do not, a copy of 1 MiB takes 0.45 ms instead of 0.03.
/// Stores that bypass the caches do not fetch, but leave the data in memory for the reader to
/// fetch. So blocks that do not stay in a cache anyway are always streamed, and smaller ones while
/// a Trial finds ordinary copies slow. What streaming costs shows only later, when the reader
/// fetches, so it is not timed: the Trial compares ordinary copies with a speed that they have
/// where the cores share a cache.
#pragma once

#include <cstddef>
#include <mutex>

#include "fluvial/base/trial.hpp"
#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {

class StagingCopy {
  public:
    /// Copies the elements of `from` to memory at `to`, where they lie together in row-major order.
    /// Local; several threads may at a time.
    void operator()(const ArrayView& from, std::byte* to);

    static constexpr std::size_t always_streamed_from = std::size_t{8} << 20;  ///< bytes
    static constexpr std::size_t never_streamed_below = std::size_t{16} << 10;
    static constexpr double slow_bytes_per_ns =
        8.0;  ///< an ordinary copy below this makes the next ones stream
    static constexpr int streamed_between_trials = 128;

  private:
    static constexpr int way_streamed = 1;

    std::mutex mutex_;
    /// In copies, whose cost is ns a byte.
    Trial trial_{{.round = 1,
                  .rounds = 1,
                  .rest = {0, streamed_between_trials},
                  .second_cost = 1 / slow_bytes_per_ns}};
};

}  // namespace fluvial::stage
