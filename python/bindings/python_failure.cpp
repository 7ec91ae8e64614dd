// SPDX-License-Identifier: Apache-2.0
#include "python_failure.hpp"

#include <nanobind/stl/string.h>

#include "fluvial/base/error.hpp"

namespace fluvial::python {
namespace nb = nanobind;
namespace {

/// Empty where nanobind can say it: it takes text for UTF-8, and crashes where it is not.
std::string said_instead(const nb::python_error& error) {
    try {
        const nb::str said(error.value());
        if (PyUnicode_AsUTF8AndSize(said.ptr(), nullptr) != nullptr) {
            return "";
        }
        PyErr_Clear();
        return text(nb::cast<std::string>(error.type().attr("__name__")), ": ", to_utf8(said));
    } catch (const nb::python_error&) {
        return "";  // its str() raises, which nanobind says
    }
}

}  // namespace

PythonFailure::PythonFailure(const nb::python_error& error)
    : PythonFailure(error, said_instead(error)) {}

void throw_failure(const nb::python_error& error) {
    if (error.matches(PyExc_Exception)) {
        throw PythonFailure(error);
    }
    throw PythonInterruption(error);
}

std::string to_utf8(nb::handle object) {
    return nb::cast<std::string>(
        nb::str(object).attr("encode")("utf-8", "backslashreplace").attr("decode")("utf-8"));
}

}  // namespace fluvial::python
