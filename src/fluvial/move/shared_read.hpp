// SPDX-License-Identifier: Apache-2.0
/// Remote reads by ranks of one job that share a host: what several of them want of a step in the
/// same call crosses the network once.
///
/// A rank claims some windows at a time, brings them, and takes meanwhile what others have brought.
/// Only when others bring all that is left does it wait for them, and holds no claim then: ranks
/// never wait for each other in a circle. Ranks begin at different windows, so that all connections
/// bring something.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/shared_claims.hpp"
#include "fluvial/move/shared_windows.hpp"

namespace fluvial::move {

/// How this rank reads by itself.
struct OwnRead {
    /// Waits until all boxes are there. Calls `moved` about ten times a second, with the seconds
    /// since something came last.
    std::function<void(std::span<const RemoteBox> boxes,
                       const std::function<void(double silent_s)>& moved)>
        read;
    /// Is called about ten times a second while the rank waits for others: what it throws ends the
    /// wait.
    std::function<void()> look;
};

/// Reads all boxes. Returns how many bytes of them ranks of this host had brought. Waits. Throws as
/// `own` does.
std::uint64_t read_shared(SharedClaims& claims, const StepOnHost& from,
                          std::span<const RemoteBox> boxes, const OwnRead& own);

/// This rank has these boxes by itself: others that want them tell that the ranks had better share.
void note_had(SharedClaims& claims, const StepOnHost& from, std::span<const RemoteBox> boxes);

}  // namespace fluvial::move
