// SPDX-License-Identifier: Apache-2.0
/// What other bindings need from the operators': NumPy arrays as views, results as NumPy arrays,
/// operators by whatever name or object the user gave.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "arguments.hpp"
#include "fluvial/compute/reduction.hpp"
#include "fluvial/describe/selection.hpp"

namespace fluvial::python {

namespace nb = nanobind;

/// Any object with the buffer protocol as a view, without a copy: any strides, any of the 13 dtypes
/// in native byte order (bool counts as uint8). Pins the buffer; the GIL is held to construct and
/// to destroy. Throws InvalidArgument for other dtypes.
class BorrowedArray {
  public:
    explicit BorrowedArray(nb::handle object);
    ~BorrowedArray();
    BorrowedArray(BorrowedArray&& other) noexcept;
    BorrowedArray& operator=(BorrowedArray&&) = delete;
    const ArrayView& view() const { return view_; }

  private:
    Py_buffer buffer_{};
    bool held_ = false;
    ArrayView view_;
};

/// The same type in the words of nb::ndarray.
nb::dlpack::dtype dlpack_dtype(DType dtype);
/// A new NumPy array with a copy of the values; 0-d for an empty shape.
nb::object to_numpy(const compute::Array& array);
/// {name: array}
nb::dict to_numpy(const compute::Result& result);
/// The elements, contiguous.
compute::Array dense_copy(const ArrayView& view);
/// A read-only NumPy array that shares the memory of the view; the caller sees to it that it does
/// not outlive it.
nb::object lend_to_numpy(const ArrayView& view);
/// The inverse of to_numpy: a copy of an array-like.
compute::Array from_numpy(nb::handle object);

/// From a name ("mean"), an operator of fluvial.ops, or an object with identity, absorb, merge and
/// finish.
compute::OperatorPtr to_operator(nb::handle object);
/// From a sequence of (name, operator, list of input numbers).
std::vector<compute::Reduction::Entry> to_entries(nb::handle entries);
/// What the user gets: op.wrap(arrays) of the operator that `object` names.
nb::object wrap_result(nb::handle object, const compute::Result& result);

nb::tuple to_tuple(const Coordinates& coordinates);
/// From start, count and stride, three tuples; None is none.
std::optional<Selection> to_selection(nb::handle selection);

/// A Python object that may be copied and destroyed without the GIL.
std::shared_ptr<nb::object> share(nb::object object);
/// An operator whose methods are Python's. See fluvial.ops.Operator.
compute::OperatorPtr python_operator(nb::object object);
/// fluvial.ops.Apply: `function` takes NumPy arrays and returns one; dtype None asks the function.
/// `declared` is its name and version.
compute::OperatorPtr python_apply(nb::object function, compute::OperatorPtr op, int inputs,
                                  nb::object dtype, const std::string& declared);
/// What ranks know a function or an operator of the user's by: its name, which is its attribute
/// `name` or else its own or its class's, and its attribute `version`. What is not None counts
/// instead.
std::string declared_by(nb::handle object, nb::handle name = nb::none(),
                        nb::handle version = nb::none());

/// The classes Terms and Reduction, and what goes with them.
void bind_terms(nb::module_& m);
void bind_reduction(nb::module_& m);

}  // namespace fluvial::python
