// SPDX-License-Identifier: Apache-2.0
/// Reads that ascend through a file, counted, with the bytes behind them asked of the system early
/// where the system is slow.
#pragma once

#include "fluvial/scan/scan.hpp"
#include "fluvial/store/input_file.hpp"

namespace fluvial::scan {

/// Owned by one lane; one thread.
class ReadAhead {
  public:
    ReadAhead(Index bytes_ahead, Stats& stats) : bytes_ahead_(bytes_ahead), stats_(stats) {}

    /// As InputFile::read. Advice costs a walk over the page cache, so none is given while reads
    /// come at the speed of memory.
    void read(const store::InputFile& file, std::uint64_t offset, std::span<std::byte> to);

  private:
    Index bytes_ahead_;
    Stats& stats_;
    const store::InputFile* file_ = nullptr;
    std::uint64_t asked_until_ = 0, last_end_ = 0;
    int fast_asks_ = 0;  ///< since the last slow read
};

}  // namespace fluvial::scan
