// SPDX-License-Identifier: Apache-2.0
/// The turns of waits that are written in Python.
#include <limits>
#include <optional>

#include <nanobind/nanobind.h>

#include "fluvial/progress/engine.hpp"
#include "fluvial/progress/serving_event.hpp"

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
    m.def(
        "serves", [] { return progress::serves_others(); },
        "Whether this thread has streams or scans to serve while it waits. Local.");
    nb::class_<progress::ServingEvent>(
        m, "ServingEvent",
        "As threading.Event, but the thread that waits serves its streams and scans meanwhile. "
        "Ctrl-C ends a wait within a tenth of a second.")
        .def(nb::init<>())
        .def("set", &progress::ServingEvent::set)
        .def("clear", &progress::ServingEvent::clear)
        .def("is_set", &progress::ServingEvent::is_set)
        .def("wait", &progress::ServingEvent::wait,
             "timeout"_a = std::numeric_limits<double>::infinity(),
             nb::call_guard<nb::gil_scoped_release>(),
             "Return whether it is set, after `timeout` seconds at the latest. It serves at least "
             "once, unless it is set already. Local.");
}
