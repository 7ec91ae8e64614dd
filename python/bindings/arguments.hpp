// SPDX-License-Identifier: Apache-2.0
/// The caller's Python objects as values of C++: each function throws WrongType, which names the
/// argument and shows the object, where it is of another type. The GIL is held.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial::python {

namespace nb = nanobind;

/// The object as a message shows it.
std::string shown(nb::handle object);

[[noreturn]] void throw_wrong_type(const std::string& what, nb::handle seen,
                                   const std::string& allowed, const std::string& remedy = "");

/// Throws what Python raised as the class of fluvial::Error that it is, so that it reaches other
/// ranks as such: Python's TypeError and ValueError as WrongType and InvalidArgument. Returns for
/// any other.
void throw_as_ours(const nb::python_error& error);

/// An int of 64 bits; whatever Python takes for an index, but no bool.
Index to_int(nb::handle object, const char* what);
std::string to_text(nb::handle object, const char* what);
/// A sequence of int; one int stands for a sequence of one.
Coordinates to_coordinates(nb::handle object, const char* what);

/// Any type that nanobind casts; `allowed` says in words which. The casters of T are included by
/// the files that call it.
template <class T>
T to(nb::handle object, const char* what, const char* allowed) {
    T value;
    if (!nb::try_cast<T>(object, value)) {
        PyErr_Clear();
        throw_wrong_type(what, object, allowed);
    }
    return value;
}

/// An object of a bound class; lives as long as `object`.
template <class T>
T& to_bound(nb::handle object, const char* what, const char* allowed) {
    T* bound = nullptr;
    if (!nb::try_cast<T*>(object, bound) || bound == nullptr) {
        throw_wrong_type(what, object, allowed);
    }
    return *bound;
}

}  // namespace fluvial::python
