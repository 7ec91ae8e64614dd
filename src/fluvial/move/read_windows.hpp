// SPDX-License-Identifier: Apache-2.0
/// A read of boxes in windows, which can be had over different connections.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "fluvial/move/remote_read.hpp"

namespace fluvial::move {

struct ReadWindow {
    std::vector<RemoteBox> boxes;
    std::uint64_t bytes = 0;
    int askers = 0;              ///< rails that are to bring it
    bool done = false;           ///< all of it has come, over one of them
    std::exception_ptr refused;  ///< what the owner answered in its place
};

/// Each window has that part of the bytes that are left: they become smaller towards the end, when
/// all rails would wait for the one that brings the last.
struct WindowSizes {
    std::uint64_t part = 1;
    std::uint64_t least = 0;  ///< bytes; to ask for less costs more than it gains
    std::uint64_t most = 0;
};
/// For a read of so many bytes over so many rails.
WindowSizes window_sizes(std::uint64_t bytes, std::size_t rails);
/// For one that a single rail is expected to bring: the others may have to help all the same.
WindowSizes window_sizes_alone(std::uint64_t bytes);

/// The boxes in their order, in windows of about these sizes: a large box is cut along its
/// outermost axis, small boxes share a window. A place with a checksum is checked as a whole, so
/// its box is not cut. No window is empty.
std::vector<ReadWindow> windows_of(std::span<const RemoteBox> boxes, const WindowSizes& sizes);

}  // namespace fluvial::move
