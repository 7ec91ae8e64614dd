// SPDX-License-Identifier: Apache-2.0
/// An Outlet whose memory the consumer's core reads: between cores that share no cache, stores into
/// it may be several times slower than stores into a cache and a copy past it, so that a CopyPolicy
/// finds out how large elements get there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fluvial/move/copy_policy.hpp"
#include "fluvial/move/outlet.hpp"

namespace fluvial::move {

/// From this size on, elements go to their place without a stop in a staging buffer.
inline constexpr std::size_t large_element_bytes = 4096;
/// Room in that memory is handed out in pieces of this, so that large elements flow through in
/// parts.
inline constexpr std::size_t piece_bytes = std::size_t{64} << 10;

class CopyingOutlet : public Outlet {
  public:
    void fill(std::byte* room, const void* from, std::size_t bytes) final;
    std::byte* try_lend(std::size_t bytes) final;
    void give_back(std::size_t bytes) final;

  protected:
    /// New links begin with the `last` choice of their kind; `window_bytes` are written in turn.
    CopyingOutlet(LastChoice& last, std::uint64_t window_bytes, std::size_t unit_bytes);

    /// Elements are written where the consumer's core reads them.
    virtual bool writes_in_place() const = 0;
    /// New room was handed out.
    void begin_piece() {
        piece_start_ = committed_;
        large_ = 0;
    }
    /// What comes next goes to its place without a stop in a staging buffer: it is large, or most
    /// of what came into the last piece was.
    bool passes_staging(std::size_t bytes) const {
        return std::max(bytes, unit_bytes_) >= large_element_bytes ||
               (committed_ > piece_start_ && 2 * large_ > committed_ - piece_start_);
    }
    /// The whole units of `free` bytes, but `bytes` at least.
    std::size_t whole_units(std::size_t bytes, std::size_t free) const {
        return std::max(bytes, free / unit_bytes_ * unit_bytes_);
    }

    const std::size_t unit_bytes_;
    CopyPolicy policy_;

  private:
    struct alignas(64) Piece {
        std::byte bytes[piece_bytes];
    };

    std::uint64_t piece_start_ = 0;  ///< committed when this room was handed out
    std::uint64_t large_ = 0;        ///< bytes of it that came in large fills
    std::unique_ptr<Piece> lent_;    ///< memory of this process instead of the link's
    bool lends_ = false;
};

}  // namespace fluvial::move
