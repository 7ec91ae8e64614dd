// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/grid.hpp"

#include <algorithm>

#include "fluvial/base/finer_errors.hpp"

namespace fluvial::distribute {
namespace {

/// An interval in equal parts.
class Parts {
  public:
    Parts() = default;
    Parts(Index begin, Index extent, Index parts)
        : begin_(begin), each_(extent / parts), larger_(extent % parts) {}
    Index begin_of(Index part) const { return begin_ + part * each_ + std::min(part, larger_); }
    Index part_of(Index coordinate) const {
        const Index from_begin = coordinate - begin_;
        const Index in_larger = larger_ * (each_ + 1);
        return from_begin < in_larger ? from_begin / (each_ + 1)
                                      : larger_ + (from_begin - in_larger) / each_;
    }

  private:
    Index begin_ = 0, each_ = 0, larger_ = 0;
};

}  // namespace

Region bounding_box(const Request& request) {
    if (request.chunks.empty()) {
        return {};
    }
    Region box = request.chunks.front().region;
    for (const WrittenChunk& chunk : request.chunks) {
        for (int axis = 0; axis < box.ndim(); ++axis) {
            const Index begin = std::min(box.offset[axis], chunk.region.offset[axis]);
            const Index end = std::max(box.offset[axis] + box.extent[axis],
                                       chunk.region.offset[axis] + chunk.region.extent[axis]);
            box.offset[axis] = begin;
            box.extent[axis] = end - begin;
        }
    }
    return box;
}

int axis_of(const Region& box, Index axis, const std::string& name) {
    const Index from_front = axis < 0 ? axis + box.ndim() : axis;
    if (from_front < 0 || from_front >= box.ndim()) {
        throw OutOfBounds(Problem{name + ": there is no such axis", text(axis),
                                  text("an axis of chunks of ", box.ndim(), " dimensions"), ""});
    }
    return static_cast<int>(from_front);
}

Distribution assign_cells(const Request& request, const Coordinates& cells) {
    Distribution out;
    const Region box = bounding_box(request);
    Parts parts[ndim_max];
    for (int axis = 0; axis < box.ndim(); ++axis) {
        parts[axis] = Parts(box.offset[axis], box.extent[axis], cells[axis]);
    }
    const auto cells_of = [&](const Region& chunk) {
        Region touched = chunk;
        for (int axis = 0; axis < box.ndim(); ++axis) {
            touched.offset[axis] = parts[axis].part_of(chunk.offset[axis]);
            touched.extent[axis] =
                parts[axis].part_of(chunk.offset[axis] + chunk.extent[axis] - 1) -
                touched.offset[axis] + 1;
        }
        return touched;
    };
    Index pieces = 0;
    for (const WrittenChunk& chunk : request.chunks) {
        pieces += cells_of(chunk.region).volume();
    }
    out.assigned.reserve(static_cast<std::size_t>(pieces));
    for (std::size_t i = 0; i < request.chunks.size(); ++i) {
        const Region& chunk = request.chunks[i].region;
        const Region touched = cells_of(chunk);
        for (Index k = 0; k < touched.volume(); ++k) {
            Coordinates cell = coordinates_of(k, touched.extent);
            Region piece = chunk;
            for (int axis = 0; axis < box.ndim(); ++axis) {
                cell[axis] += touched.offset[axis];
                const Index begin = std::max(chunk.offset[axis], parts[axis].begin_of(cell[axis]));
                const Index end = std::min(chunk.offset[axis] + chunk.extent[axis],
                                           parts[axis].begin_of(cell[axis] + 1));
                piece.offset[axis] = begin;
                piece.extent[axis] = end - begin;
            }
            give(out, static_cast<int>(linear_index(cell, cells)), piece, i);
        }
    }
    return out;
}

Bounds bounds_of_cells(const Request& request, const Coordinates& cells) {
    const Region box = bounding_box(request);
    Bounds bounds;
    Index largest = 1, boxes = 1;
    bool beyond = false;
    for (int axis = 0; axis < box.ndim(); ++axis) {
        const Index edge = fair_share(box.extent[axis], static_cast<std::size_t>(cells[axis]));
        beyond = __builtin_mul_overflow(largest, edge, &largest) || beyond;
        boxes *= std::min(cells[axis], box.extent[axis]);
    }
    if (!beyond) {
        bounds.elements_max = largest;
    }
    Index pieces = 0;
    if (!__builtin_mul_overflow(boxes, static_cast<Index>(request.chunks.size()), &pieces)) {
        bounds.pieces_max = pieces;
    }
    return bounds;
}

}  // namespace fluvial::distribute
