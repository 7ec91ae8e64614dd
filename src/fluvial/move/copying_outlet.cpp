// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/copying_outlet.hpp"

#include "fluvial/base/clock.hpp"

namespace fluvial::move {

CopyingOutlet::CopyingOutlet(LastChoice& last, std::uint64_t window_bytes, std::size_t unit_bytes)
    : unit_bytes_(std::max<std::size_t>(1, unit_bytes)),
      policy_({copy_methods().front(), copy_methods().back()}, last, window_bytes, now_ns) {}

void CopyingOutlet::fill(std::byte* room, const void* from, std::size_t bytes) {
    const bool large = bytes >= large_element_bytes;
    large_ += large ? bytes : 0;
    if (large && writes_in_place()) {
        policy_.copy(room, static_cast<const std::byte*>(from), bytes);
    } else {
        std::memcpy(room, from, bytes);
    }
}

std::byte* CopyingOutlet::try_lend(std::size_t bytes) {
    std::byte* const room = try_reserve(bytes);
    lends_ = room != nullptr && writes_in_place() && Outlet::room() <= piece_bytes &&
             !policy_.stores_are_best();
    if (!lends_) {
        return room;
    }
    if (!lent_) {
        lent_ = std::make_unique<Piece>();
    }
    return lent_->bytes;
}

void CopyingOutlet::give_back(std::size_t bytes) {
    if (lends_ && bytes > 0) {
        policy_.copy(cursor_, lent_->bytes, bytes);
    }
    lends_ = false;
    if (bytes > 0) {
        commit(bytes);
    }
}

}  // namespace fluvial::move
