// SPDX-License-Identifier: Apache-2.0
/// What Python has to say before ranks agree.
#pragma once

#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "fluvial/base/error.hpp"

namespace fluvial::python {

/// Calls `work` with the GIL. An exception of Fluvial's classes that Python raises is thrown as the
/// same class of C++, and so is the same on all ranks.
template <class Work>
auto with_python(Work&& work) {
    namespace nb = nanobind;
    const nb::gil_scoped_acquire gil;
    try {
        return work();
    } catch (const nb::python_error& error) {
        if (error.matches(nb::module_::import_("fluvial._core").attr("Error"))) {
            throw_error(nb::cast<std::string>(error.type().attr("__name__")),
                        nb::cast<std::string>(nb::str(error.value())));
        }
        throw;
    }
}

}  // namespace fluvial::python
