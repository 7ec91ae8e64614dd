// SPDX-License-Identifier: Apache-2.0
/// What Python has to say before ranks agree.
#pragma once

#include <nanobind/nanobind.h>

#include "arguments.hpp"

namespace fluvial::python {

/// Calls `work` with the GIL. What Python raises is thrown as Fluvial's class of it, and so is the
/// same on all ranks: see throw_as_ours.
template <class Work>
auto with_python(Work&& work) {
    namespace nb = nanobind;
    const nb::gil_scoped_acquire gil;
    try {
        return work();
    } catch (const nb::python_error& error) {
        throw_as_ours(error);
        throw;
    }
}

}  // namespace fluvial::python
