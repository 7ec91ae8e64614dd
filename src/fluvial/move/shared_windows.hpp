// SPDX-License-Identifier: Apache-2.0
/// Which windows ranks of a host share (shared_claims.hpp), whatever each of them reads: boxes with
/// the same extents behind the axis that is cut have the same windows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluvial/move/remote_read.hpp"
#include "fluvial/move/shared_claims.hpp"

namespace fluvial::move {

/// A window, or that part of it which a box has.
struct SharedWindow {
    Stretch stretch;
    RemoteBox box;
};

struct WindowsOfBoxes {
    std::vector<SharedWindow> windows;
    std::vector<RemoteBox> others;  ///< too small to be worth it
};

/// Where the steps of a stream come from.
struct StepOnHost {
    std::uint64_t step = 0;
    std::uint32_t host = 0;  ///< which of the writer's
    bool for_all = false;    ///< what is read of it here every rank wants
};

/// In their order. A place with a checksum is one window.
WindowsOfBoxes shared_windows(const StepOnHost& from, std::span<const RemoteBox> boxes);

inline constexpr std::uint64_t shared_window_bytes = std::uint64_t{1} << 20;
/// To share less costs more than to read it.
inline constexpr std::uint64_t shared_bytes_min = std::uint64_t{32} << 10;

}  // namespace fluvial::move
