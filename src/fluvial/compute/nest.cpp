// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/nest.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fluvial::compute {
namespace {

constexpr Index short_axis = 32;  ///< kept axes shorter than this are not worth being innermost

bool fuses(const Loop& outer, const Loop& inner, int inputs) {
    bool fits = outer.weights == inner.weights * inner.count &&
                outer.mask == inner.mask * inner.count && outer.cell == inner.cell * inner.count &&
                outer.position == inner.position * inner.count;
    for (int i = 0; i < inputs; ++i) {
        fits = fits && outer.input[i] == inner.input[i] * inner.count;
    }
    return fits;
}

/// Strides of kept cells and of positions, and where the piece begins.
void place(const Piece& piece, const Domain& domain, bool positions, Loop* axes, Nest& nest) {
    Index cell_stride = 1, position_stride = 1;
    auto reduced = domain.over.rbegin();
    for (int axis = piece.where.ndim() - 1; axis >= 0; --axis) {
        const Index inside = piece.where.offset[axis] - domain.selection.offset[axis];
        if (reduced != domain.over.rend() && *reduced == axis) {
            ++reduced;
        } else {
            axes[axis].cell = cell_stride;
            nest.cell += inside * cell_stride;
            cell_stride *= domain.selection.extent[axis];
        }
        if (positions) {
            const bool backwards = domain.is_backwards(axis);
            const Index last = domain.selection.extent[axis] - 1;
            axes[axis].position = backwards ? -position_stride : position_stride;
            nest.position += (backwards ? last - inside : inside) * position_stride;
        }
        position_stride *= domain.selection.extent[axis];
    }
}

}  // namespace

Nest make_nest(const Piece& piece, const Domain& domain, const RunNeeds& needs) {
    Nest nest;
    Loop axes[ndim_max];
    place(piece, domain, needs.positions, axes, nest);
    int count = 0;
    for (int axis = 0; axis < piece.where.ndim(); ++axis) {
        Loop loop = axes[axis];
        loop.count = piece.where.extent[axis];
        for (int i = 0; i < needs.inputs; ++i) {
            loop.input[i] = piece.inputs[i].strides[axis];
        }
        loop.weights = piece.weights != nullptr ? piece.weights->strides[axis] : 0;
        loop.mask = piece.mask != nullptr ? piece.mask->strides[axis] : 0;
        if (loop.count != 1) {
            axes[count++] = loop;
        }
    }
    // Innermost is what lies closest in memory, whatever the order of the axes. An insertion sort:
    // stable, and quick for axes that are in order, as most are.
    for (int i = 1; i < count; ++i) {
        for (int k = i; k > 0 && std::abs(axes[k].input[0]) > std::abs(axes[k - 1].input[0]); --k) {
            std::swap(axes[k], axes[k - 1]);
        }
    }
    for (int i = 0; i < count; ++i) {
        if (nest.depth > 0 && fuses(nest.loops[nest.depth - 1], axes[i], needs.inputs)) {
            const Index outer = nest.loops[nest.depth - 1].count;
            nest.loops[nest.depth - 1] = axes[i];
            nest.loops[nest.depth - 1].count *= outer;
        } else {
            nest.loops[nest.depth++] = axes[i];
        }
    }
    if (nest.depth == 0) {
        nest.depth = 1;  // one element
    }
    // A short kept axis innermost (positions of shape (n, 3)) makes short runs; go along the
    // longest reduced one.
    Loop* const last = nest.loops + nest.depth - 1;
    if (last->cell != 0 && last->count < short_axis) {
        Loop* longest = last;
        for (Loop* loop = nest.loops; loop < last; ++loop) {
            longest = loop->cell == 0 && loop->count > longest->count ? loop : longest;
        }
        std::rotate(longest, longest + 1, last + 1);
    }
    return nest;
}

}  // namespace fluvial::compute
