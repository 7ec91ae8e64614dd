// SPDX-License-Identifier: Apache-2.0
/// A block of a piece, with what belongs to it of weights and mask.
#pragma once

#include <span>

#include "fluvial/compute/operator.hpp"

namespace fluvial::compute {

/// Calls `f` with the part of `piece` in `block`, which counts from the piece's first element;
/// `views` are its inputs.
template <class F>
void for_part(const Piece& piece, std::span<const ArrayView> views, const Region& block, F&& f) {
    Piece part{views, block, nullptr, nullptr};
    for (int axis = 0; axis < block.ndim(); ++axis) {
        part.where.offset[axis] += piece.where.offset[axis];
    }
    ArrayView weights;
    ArrayView mask;
    if (piece.weights != nullptr) {
        weights = subview(*piece.weights, block);
        part.weights = &weights;
    }
    if (piece.mask != nullptr) {
        mask = subview(*piece.mask, block);
        part.mask = &mask;
    }
    f(part);
}

}  // namespace fluvial::compute
