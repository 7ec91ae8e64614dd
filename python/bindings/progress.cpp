// SPDX-License-Identifier: Apache-2.0
/// The turns of waits that are written in Python.
#include <optional>

#include <nanobind/nanobind.h>

#include "fluvial/progress/engine.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace progress = fluvial::progress;

void bind_progress(nb::module_& m) {
    m.def(
        "serve",
        [](double seconds, bool setting_up) {
            std::optional<progress::Setup> setup;
            if (setting_up) {
                setup.emplace();
            }
            progress::serve_for(seconds);
        },
        "seconds"_a, "setting_up"_a = false, nb::call_guard<nb::gil_scoped_release>(),
        "Wait for so long, and do meanwhile what others wait for of this thread in its streams and "
        "scans; once, where there are no seconds. Nothing is served while ranks set something up "
        "by calls of MPI that block. Local.");
}
