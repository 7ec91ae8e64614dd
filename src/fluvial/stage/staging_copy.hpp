// SPDX-License-Identifier: Apache-2.0
/// The one copy that a put makes, from the user's array into memory that a reader on another core
/// has just read.
///
/// An ordinary store to such a line first fetches it from the other core. Where the two cores share
/// a cache that costs little; where they do not, a copy of 1 MiB takes 0.45 ms instead of 0.03.
/// Stores that bypass the caches do not fetch, but leave the data in memory for the reader to
/// fetch. So blocks that do not stay in a cache anyway are always streamed, and smaller ones while
/// ordinary copies are found to be slow.
#pragma once

#include <atomic>
#include <cstddef>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {

class StagingCopy {
  public:
    /// Copies `from` to `to`, of equal dtype and extent, as fluvial::copy does. Local; several
    /// threads may at a time.
    void operator()(const ArrayView& from, const MutableArrayView& to);

    static constexpr std::size_t always_streamed_from = std::size_t{8} << 20;  ///< bytes
    static constexpr std::size_t never_streamed_below = std::size_t{16} << 10;
    static constexpr double slow_bytes_per_ns =
        8.0;  ///< an ordinary copy below this makes the next ones stream
    static constexpr int streamed_between_trials = 128;

  private:
    std::atomic<int> streamed_left_ = 0;
};

/// memcpy by stores that bypass the caches, where the CPU has them; made visible to other cores
/// before it returns.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace fluvial::stage
