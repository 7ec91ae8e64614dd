// SPDX-License-Identifier: Apache-2.0
/// How this library goes through n-d index ranges: row-major, the last axis fastest.
///
/// | call                                     | what is visited                               |
/// |------------------------------------------|-----------------------------------------------|
/// | for_each_index(extent, visit)            | every index of (0, extent)                    |
/// | for_each_offset(extent, visit, strides…) | where every index lies in one or more arrays  |
/// | for_each_block(extent, block, visit)     | boxes, of at most `block`, that make it up    |
/// | contiguous_axes(view)                    | the innermost axes that are one run of memory |
///
/// Of an extent with a 0 in it nothing is visited; one without axes has one index, the empty one.
/// The cost of a step is a few additions, whatever the number of axes. So that there is none an
/// element, leave the axes of the longest run out of the walk and take them in one go:
///
///     const ContiguousAxes run = contiguous_axes(view);
///     for_each_offset(view.extent.span().first(run.first),
///                     [&](Index at) { use(view.data + at, run.elements); }, view.strides);
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

#include "fluvial/describe/array_view.hpp"

namespace fluvial {

/// The walk itself, for callers that move more than offsets along:
///
///     IndexWalk walk(extent);  // nothing in it is 0
///     do {
///         use(walk.at());
///     } while (walk.next() >= 0);
class IndexWalk {
  public:
    /// Begins at (0, …, 0).
    explicit IndexWalk(std::span<const Index> extent) : extent_(extent), at_(extent_.size(), 0) {}

    const Coordinates& at() const { return at_; }
    /// To the next index. The axis along which it went one on, while those behind it went back from
    /// their last index to 0; -1 after the last index of all.
    int next() {
        int axis = extent_.size() - 1;
        for (; axis >= 0 && ++at_[axis] == extent_[axis]; --axis) {
            at_[axis] = 0;
        }
        return axis;
    }

  private:
    Coordinates extent_;
    Coordinates at_;
};

/// How far an array of these strides moves when IndexWalk::next() returns an axis. Strides may
/// have more axes than the extent, of which the first ones count.
Coordinates jumps_of(std::span<const Index> extent, const Coordinates& strides);

/// Where an index lies: the sum of index times stride.
inline Index offset_of(const Coordinates& index, const Coordinates& strides) {
    Index offset = 0;
    for (int axis = 0; axis < index.size(); ++axis) {
        offset += index[axis] * strides[axis];
    }
    return offset;
}

/// The innermost axes of a view whose elements follow each other in memory.
struct ContiguousAxes {
    int first;       ///< the outermost of them; the number of axes where not even one does
    Index elements;  ///< of them together
};
ContiguousAxes contiguous_axes(const ArrayView& view);

inline bool holds_no_index(std::span<const Index> extent) {
    return std::find(extent.begin(), extent.end(), 0) != extent.end();
}

/// visit(const Coordinates& index)
template <class Visit>
void for_each_index(std::span<const Index> extent, Visit&& visit) {
    if (holds_no_index(extent)) {
        return;
    }
    IndexWalk walk(extent);
    do {
        visit(walk.at());
    } while (walk.next() >= 0);
}
template <class Visit>
void for_each_index(const Coordinates& extent, Visit&& visit) {
    for_each_index(extent.span(), std::forward<Visit>(visit));
}

/// visit(Index offset, …), one offset for each of `strides`, which are Coordinates.
template <class Visit, class... Strides>
void for_each_offset(std::span<const Index> extent, Visit&& visit, const Strides&... strides) {
    constexpr std::size_t arrays = sizeof...(strides);
    if (extent.empty()) {
        std::apply(visit, std::array<Index, arrays>{});
        return;
    }
    if (holds_no_index(extent)) {
        return;
    }
    // The last axis is a plain loop, which compilers see through.
    const std::span<const Index> outer = extent.first(extent.size() - 1);
    const Index count = extent.back();
    const auto last = static_cast<int>(outer.size());
    const std::array<Index, arrays> steps = {(count > 1 ? strides[last] : 0)...};
    const std::array<Coordinates, arrays> jumps = {jumps_of(outer, strides)...};
    std::array<Index, arrays> begins = {};
    IndexWalk walk(outer);
    for (;;) {
        std::array<Index, arrays> offsets = begins;
        for (Index i = 0; i < count; ++i) {
            std::apply(visit, offsets);
            for (std::size_t k = 0; k < arrays; ++k) {
                offsets[k] += steps[k];
            }
        }
        const int axis = walk.next();
        if (axis < 0) {
            return;
        }
        for (std::size_t k = 0; k < arrays; ++k) {
            begins[k] += jumps[k][axis];
        }
    }
}

/// visit(const Region& part) for the parts of (0, extent), of at most `block`, whose entries are 1
/// or more. `order` says which axes the walk goes along, slowest first; row-major if it is empty.
template <class Visit>
void for_each_block(const Coordinates& extent, const Coordinates& block, Visit&& visit,
                    std::span<const int> order = {}) {
    const int ndim = extent.size();
    const auto axis_of = [&](int level) {
        return order.empty() ? level : order[static_cast<std::size_t>(level)];
    };
    Coordinates blocks(ndim, 0);
    for (int level = 0; level < ndim; ++level) {
        const int axis = axis_of(level);
        blocks[level] = extent[axis] / block[axis] + (extent[axis] % block[axis] != 0);
    }
    Region part = whole(extent);
    for_each_index(blocks, [&](const Coordinates& number) {
        for (int level = 0; level < ndim; ++level) {
            const int axis = axis_of(level);
            part.offset[axis] = number[level] * block[axis];
            part.extent[axis] = std::min(block[axis], extent[axis] - part.offset[axis]);
        }
        visit(std::as_const(part));
    });
}

}  // namespace fluvial
