// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/box_in_file.hpp"

#include "fluvial/describe/array_view.hpp"

namespace fluvial::move {

BoxInFile::BoxInFile(std::uint64_t begin, const Coordinates& shape, std::size_t element_bytes,
                     const Region& box)
    : begin_(begin) {
    // Axes that are whole, and the one before them, lie in one piece.
    int axes = shape.size();
    while (axes > 0 && box.extent[axes - 1] == shape[axes - 1]) {
        --axes;
    }
    axes = std::max(axes - 1, 0);
    const auto outer = static_cast<std::size_t>(axes);
    const Coordinates strides = contiguous_strides(shape, element_bytes);
    offset_ = Coordinates(box.offset.span().first(outer));
    extent_ = Coordinates(box.extent.span().first(outer));
    strides_ = Coordinates(strides.span().first(outer));
    if (axes < shape.size()) {
        inner_offset_ = static_cast<std::uint64_t>(box.offset[axes] * strides[axes]);
    }
    const auto volume = static_cast<std::uint64_t>(box.volume());
    pieces_ = volume == 0 ? 0 : static_cast<std::uint64_t>(volume_of(extent_));
    piece_bytes_ = volume == 0 ? 0 : volume * element_bytes / pieces_;
    if (axes > 0) {
        row_ = static_cast<std::uint64_t>(extent_[axes - 1]);
        distance_ = static_cast<std::uint64_t>(strides_[axes - 1]);
    }
}

std::uint64_t BoxInFile::before(std::uint64_t place) const {
    if (place <= begin_ || pieces_ == 0) {
        return 0;
    }
    std::uint64_t rest = place - begin_, count = 0, inner = bytes();
    for (int axis = 0; axis < extent_.size(); ++axis) {
        const auto extent = static_cast<std::uint64_t>(extent_[axis]);
        const auto offset = static_cast<std::uint64_t>(offset_[axis]);
        const auto stride = static_cast<std::uint64_t>(strides_[axis]);
        const std::uint64_t at = rest / stride;
        if (at < offset) {
            return count;
        }
        if (at >= offset + extent) {
            return count + inner;
        }
        inner /= extent;
        count += (at - offset) * inner;
        rest %= stride;
    }
    return count +
           (rest > inner_offset_ ? std::min(rest - inner_offset_, piece_bytes_) : std::uint64_t{0});
}

std::uint64_t BoxInFile::place_of(std::uint64_t piece) const {
    std::uint64_t place = begin_ + inner_offset_;
    for (int axis = extent_.size() - 1; axis >= 0; --axis) {
        const auto extent = static_cast<std::uint64_t>(extent_[axis]);
        const auto at = static_cast<std::uint64_t>(offset_[axis]) + piece % extent;
        place += at * static_cast<std::uint64_t>(strides_[axis]);
        piece /= extent;
    }
    return place;
}

}  // namespace fluvial::move
