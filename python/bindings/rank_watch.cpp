// SPDX-License-Identifier: Apache-2.0
/// Ranks that do something together in Python, by calls of mpi4py that do not block.
#include <optional>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "named_task.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using fluvial::python::NamedTask;

void bind_rank_watch(nb::module_& m) {
    nb::class_<NamedTask>(m, "WatchedTask",
                          "What all ranks of a communicator do together, begun by all in the same "
                          "order. Collective and blocking at the first one of a communicator.")
        .def(nb::init<std::optional<long>, double, std::string>(), "handle"_a.none(),
             "stall_timeout"_a, "of"_a, nb::call_guard<nb::gil_scoped_release>())
        .def("look", &NamedTask::look, nb::call_guard<nb::gil_scoped_release>(),
             "Raise PeerLost or PeerStalled when a rank has died or is stopped, or what one has "
             "ended the task by.");
}
