// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/read_ahead.hpp"

#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::scan {
namespace {

constexpr double disk_ns_per_byte = 0.5;     ///< slower than 2 GB/s: not from the page cache
constexpr Index telling_bytes = 128 * 1024;  ///< shorter reads say nothing about speed
/// Windows asked for without a slow read: the file may be in memory. If not, a slow read tells.
constexpr int fast_asks_max = 2;

}  // namespace

ReadAhead::ReadAhead(Index bytes_ahead, Index window_bytes, Stats& stats)
    : bytes_ahead_(bytes_ahead),
      stats_(stats),
      window_bytes_(static_cast<std::uint64_t>(window_bytes)) {}

const std::byte* ReadAhead::look(const store::InputFile& file, std::uint64_t offset,
                                 std::uint64_t bytes, Index wanted) {
    if (bytes > window_bytes_ || bytes == 0 || file_ == &file) {
        return nullptr;
    }
    if (!window_) {
        window_.emplace(window_bytes_);
    }
    const std::byte* const found = window_->map(file, offset, bytes);
    if (found != nullptr) {
        if (seen_ != file.path()) {
            seen_ = file.path();
        }
        stats_.bytes_read += wanted;
        ++stats_.reads;
    }
    return found;
}

void ReadAhead::check() const {
    if (window_ && window_->broken()) {
        throw DamagedFile(Problem{"'" + seen_ + "' changed while it was read",
                                  "bytes that are no longer there, or that the disk does not give",
                                  "a file that stays as it is", "Read it when it is complete"});
    }
}

void ReadAhead::read(const store::InputFile& file, std::uint64_t offset, std::span<std::byte> to) {
    const std::int64_t begin = now_ns();
    file.read(offset, to);
    const std::int64_t elapsed = now_ns() - begin;
    stats_.read_s += static_cast<double>(elapsed) * 1e-9;
    stats_.bytes_read += static_cast<Index>(to.size());
    ++stats_.reads;
    const auto bytes = static_cast<Index>(to.size());
    const bool slow = bytes >= telling_bytes &&
                      static_cast<double>(elapsed) > disk_ns_per_byte * static_cast<double>(bytes);
    const std::uint64_t end = offset + to.size();
    // What lies between reads far apart is not wanted.
    const bool follows = file_ == &file && offset >= last_end_ && offset - last_end_ <= to.size();
    last_end_ = end;
    fast_asks_ = slow ? 0 : fast_asks_;
    if (bytes_ahead_ == 0 || (!slow && file_ != &file)) {
        return;
    }
    if (!follows) {
        file_ = &file;
        asked_until_ = end;
        return;
    }
    const auto ahead = static_cast<std::uint64_t>(bytes_ahead_);
    if (asked_until_ < end + ahead / 2) {  // half a window is left: ask for the next half
        if (fast_asks_++ == fast_asks_max) {
            file_ = nullptr;
            return;
        }
        const std::uint64_t from = std::max(asked_until_, end);
        const std::uint64_t until = std::min(end + ahead, file.size());
        if (from < until) {
            file.will_need(from, until - from);
        }
        asked_until_ = std::max(until, asked_until_);
    }
}

}  // namespace fluvial::scan
