// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operator.hpp"

#include <algorithm>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/terms.hpp"

namespace fluvial::compute {

Array::Array(DType type, const Coordinates& extent)
    : dtype(type),
      shape(extent),
      bytes(static_cast<std::size_t>(volume_of(extent)) * size_of(type)) {}

void Array::throw_other_type(DType asked) const {
    throw InvalidArgument(Problem{"elements are read as another type than they have",
                                  std::string(name_of(asked)), std::string(name_of(dtype)),
                                  "Look at the dtype of the array first"});
}

Coordinates Domain::kept_shape() const {
    Coordinates shape;
    for (int axis = 0; axis < selection.ndim(); ++axis) {
        if (!std::binary_search(over.begin(), over.end(), axis)) {
            shape.push_back(selection.extent[axis]);
        }
    }
    return shape;
}

bool Domain::is_backwards(int axis) const {
    return std::find(backwards.begin(), backwards.end(), axis) != backwards.end();
}

Domain make_domain(const Region& selection, std::vector<int> over, std::vector<DType> dtypes) {
    const int ndim = selection.ndim();
    if (over.empty()) {
        for (int axis = 0; axis < ndim; ++axis) {
            over.push_back(axis);
        }
    }
    for (int& axis : over) {
        if (axis < -ndim || axis >= ndim) {
            throw OutOfBounds(Problem{"axis to reduce over is out of range", text(axis),
                                      text(-ndim, " to ", ndim - 1, " for ", ndim, " dimensions"),
                                      ""});
        }
        axis += axis < 0 ? ndim : 0;
    }
    std::sort(over.begin(), over.end());
    const auto repeated = std::adjacent_find(over.begin(), over.end());
    if (repeated != over.end()) {
        throw InvalidArgument(
            Problem{"axis to reduce over is given twice", text(*repeated), "each axis once", ""});
    }
    return {selection, std::move(over), std::move(dtypes), {}};
}

void check_piece(const Piece& piece, const Domain& domain, const std::string& name) {
    for (const ArrayView& input : piece.inputs) {
        if (input.swapped) {
            throw InvalidArgument(Problem{name + ": the bytes of a piece are in the other order",
                                          "swapped", "native byte order",
                                          "Absorb it through a Reduction, which takes both"});
        }
    }
    check_stored_piece(piece, domain, name);
}

void check_stored_piece(const Piece& piece, const Domain& domain, const std::string& name) {
    if (piece.inputs.size() != domain.dtypes.size()) {
        throw InvalidArgument(Problem{name + ": wrong number of input arrays",
                                      text(piece.inputs.size()), text(domain.dtypes.size()),
                                      "Pass one array an input"});
    }
    if (piece.where.ndim() != domain.selection.ndim() || !contains(domain.selection, piece.where)) {
        throw InvalidArgument(Problem{name + ": a piece lies outside the domain", text(piece.where),
                                      text("inside ", domain.selection),
                                      "Cut the piece to the selection first"});
    }
    for (std::size_t i = 0; i < piece.inputs.size(); ++i) {
        if (piece.inputs[i].dtype != domain.dtypes[i]) {
            throw InvalidArgument(Problem{text(name, ": dtype of input ", i, " changed"),
                                          std::string(name_of(piece.inputs[i].dtype)),
                                          std::string(name_of(domain.dtypes[i])),
                                          "Convert the array first"});
        }
        if (!(piece.inputs[i].extent == piece.where.extent)) {
            throw InvalidArgument(
                Problem{text(name, ": shape of input ", i, " does not fit its region"),
                        text(piece.inputs[i].extent), text(piece.where.extent), ""});
        }
    }
    const auto check_companion = [&](const ArrayView* view, DType dtype, const char* what) {
        if (view != nullptr &&
            (view->dtype != dtype || view->swapped || !(view->extent == piece.where.extent))) {
            throw InvalidArgument(Problem{text(name, ": ", what, " do not fit the data"),
                                          text(name_of(view->dtype), view->extent,
                                               view->swapped ? " in the other byte order" : ""),
                                          text(name_of(dtype), piece.where.extent),
                                          text("Broadcast and convert the ", what, " first")});
        }
    };
    check_companion(piece.weights, DType::Float64, "weights");
    check_companion(piece.mask, DType::UInt8, "mask");
}

std::string Operator::describe() const {
    return declared(name(), version());
}

void check_inputs(const Operator& op, const Domain& domain) {
    if (static_cast<int>(domain.dtypes.size()) != op.inputs()) {
        throw InvalidArgument(Problem{op.name() + ": wrong number of inputs",
                                      text(domain.dtypes.size()), text(op.inputs()),
                                      "Name as many datasets as the operator takes"});
    }
}

}  // namespace fluvial::compute
