// SPDX-License-Identifier: Apache-2.0
/// A rank that waits for itself.
#pragma once

#include <cstdint>

#include "fluvial/move/outlet.hpp"

namespace fluvial::stream {

struct StreamState;

/// For one wait of a producer: whether no other rank can end it, because this rank would have to
/// take elements, and does not while it waits.
class OwnBuffer {
  public:
    /// `flushes`: the wait is for everything to leave, not only for what was sent before.
    OwnBuffer(const StreamState& stream, bool flushes);
    /// Throws InvalidArgument when nothing has moved for a while: messages to oneself take their
    /// time, too. To be called whenever the wait is not over.
    void check();

  private:
    const StreamState& stream_;
    const bool flushes_;
    const move::Outlet* const own_;  ///< the link of this rank to itself; null when there is none
    std::uint64_t bytes_ = 0;
    int looks_ = 0;
    std::int64_t since_ns_ = 0;
};

}  // namespace fluvial::stream
