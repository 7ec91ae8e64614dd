// SPDX-License-Identifier: Apache-2.0
/// Reads that ascend through a file, counted, with the bytes behind them asked of the system early
/// where the system is slow; or a look at what the system has in memory, without reading.
#pragma once

#include <optional>

#include "fluvial/scan/scan.hpp"
#include "fluvial/store/input_file.hpp"
#include "fluvial/store/mapped_window.hpp"

namespace fluvial::scan {

/// Owned by one lane; one thread.
class ReadAhead {
  public:
    /// `window_bytes`: what look() may have in memory at a time; 0: it never looks.
    ReadAhead(Index bytes_ahead, Index window_bytes, Stats& stats);

    /// As InputFile::read. Advice costs a walk over the page cache, so none is given while reads
    /// come at the speed of memory.
    void read(const store::InputFile& file, std::uint64_t offset, std::span<std::byte> to);
    /// These bytes in place, valid until the next call; none where they are to be read instead: the
    /// file comes from disk at present, or the range is longer than the window. `wanted` of them
    /// count as read.
    const std::byte* look(const store::InputFile& file, std::uint64_t offset, std::uint64_t bytes,
                          Index wanted);
    /// Throws DamagedFile when something that look() gave out has gone meanwhile: what was computed
    /// of it is worth nothing.
    void check() const;

  private:
    Index bytes_ahead_;
    Stats& stats_;
    std::uint64_t window_bytes_;
    std::optional<store::MappedWindow> window_;
    std::string seen_;  ///< path of the file that was looked at last
    const store::InputFile* file_ = nullptr;
    std::uint64_t asked_until_ = 0, last_end_ = 0;
    int fast_asks_ = 0;  ///< since the last slow read
};

}  // namespace fluvial::scan
