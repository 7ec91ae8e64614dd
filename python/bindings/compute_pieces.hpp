// SPDX-License-Identifier: Apache-2.0
/// What operators and reductions get from Python: arrays of one call as a piece, axes, a domain,
/// states as bytes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compute.hpp"
#include "fluvial/compute/operator.hpp"

namespace fluvial::python {

/// One call's arrays, pinned, as a piece.
class BorrowedPiece {
  public:
    BorrowedPiece(nb::handle arrays, nb::handle offset, nb::handle weights, nb::handle mask) {
        if (PySequence_Check(arrays.ptr()) == 0 || PyUnicode_Check(arrays.ptr()) ||
            PyBytes_Check(arrays.ptr())) {
            throw_wrong_type("the input of an operator", arrays, "a list of arrays, one an input");
        }
        for (const nb::handle array : arrays) {
            arrays_.emplace_back(array);
            views_.push_back(arrays_.back().view());
        }
        if (views_.empty()) {
            throw InvalidArgument(
                Problem{"no input arrays", "an empty list", "one array an input", ""});
        }
        piece_.inputs = views_;
        const Coordinates& extent = views_.front().extent;
        piece_.where = {
            offset.is_none() ? Coordinates(extent.size(), 0) : to_coordinates(offset, "offset"),
            extent};
        piece_.weights = companion(weights, weights_);
        piece_.mask = companion(mask, mask_);
    }
    const compute::Piece& piece() const { return piece_; }

  private:
    static const ArrayView* companion(nb::handle object, std::optional<BorrowedArray>& held) {
        if (object.is_none()) {
            return nullptr;
        }
        held.emplace(object);
        return &held->view();
    }

    std::vector<BorrowedArray> arrays_;
    std::vector<ArrayView> views_;
    std::optional<BorrowedArray> weights_, mask_;
    compute::Piece piece_;
};

/// Axes by number: one, several, or None for all.
std::vector<int> to_axes(nb::handle over);

compute::Domain to_domain(nb::handle shape, nb::handle dtypes, nb::handle over, nb::handle offset);

nb::bytes to_bytes(const std::vector<std::byte>& bytes);
std::span<const std::byte> to_span(const nb::bytes& bytes);

}  // namespace fluvial::python
