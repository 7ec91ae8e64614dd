// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/read_windows.hpp"

#include <algorithm>

namespace fluvial::move {
namespace {

/// Of a smaller read one window is made.
constexpr std::uint64_t striped_bytes_min = 512 * 1024;
constexpr std::uint64_t window_bytes_min = 64 * 1024, window_bytes_max = 4 * 1024 * 1024;
/// Of what is left, so many for each rail: a rail that is much slower than the others brings those
/// that it was asked for before these have brought the rest.
constexpr std::uint64_t windows_a_rail = 16;

class WindowCutting {
  public:
    WindowCutting(const WindowSizes& sizes, std::uint64_t bytes) : sizes_(sizes), left_(bytes) {}

    void add(const RemoteBox& box) {
        const std::uint64_t bytes = box.bytes();
        if (bytes == 0) {
            return;
        }
        const int axis = first_long_axis(box);
        if (bytes <= window_bytes() || axis < 0 || box.place.checksum != 0) {
            put(box, bytes);
            return;
        }
        const Index rows = box.box.extent[axis];
        const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(rows);
        for (Index row = 0; row < rows;) {
            const auto at_a_time =
                std::max<Index>(1, static_cast<Index>(window_bytes() / row_bytes));
            RemoteBox piece = box;
            piece.box.offset[axis] += row;
            piece.box.extent[axis] = std::min(at_a_time, rows - row);
            piece.to += static_cast<std::uint64_t>(row) * row_bytes;
            row += piece.box.extent[axis];
            add(piece);
        }
    }
    std::vector<ReadWindow> take() { return std::move(windows_); }

  private:
    /// Its pieces along that axis are contiguous at the reader.
    static int first_long_axis(const RemoteBox& box) {
        for (int axis = 0; axis < box.box.extent.size(); ++axis) {
            if (box.box.extent[axis] > 1) {
                return axis;
            }
        }
        return -1;
    }
    std::uint64_t window_bytes() const {
        return std::clamp(left_ / sizes_.part, sizes_.least, sizes_.most);
    }
    void put(const RemoteBox& box, std::uint64_t bytes) {
        if (windows_.empty() || windows_.back().bytes + bytes > window_bytes()) {
            windows_.emplace_back();
        }
        left_ -= bytes;
        windows_.back().boxes.push_back(box);
        windows_.back().bytes += bytes;
    }

    WindowSizes sizes_;
    std::uint64_t left_;
    std::vector<ReadWindow> windows_;
};

}  // namespace

WindowSizes window_sizes(std::uint64_t bytes, std::size_t rails) {
    if (bytes < striped_bytes_min) {
        return {1, bytes, bytes};
    }
    return {windows_a_rail * rails, window_bytes_min, window_bytes_max};
}

WindowSizes window_sizes_alone(std::uint64_t bytes) {
    constexpr std::uint64_t windows = 4;
    return {windows, std::min(bytes, striped_bytes_min), window_bytes_max};
}

std::vector<ReadWindow> windows_of(std::span<const RemoteBox> boxes, const WindowSizes& sizes) {
    std::uint64_t bytes = 0;
    for (const RemoteBox& box : boxes) {
        bytes += box.bytes();
    }
    WindowCutting cutting(sizes, bytes);
    for (const RemoteBox& box : boxes) {
        cutting.add(box);
    }
    return cutting.take();
}

}  // namespace fluvial::move
