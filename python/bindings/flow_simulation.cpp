// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fluvial/flow/scheduler.hpp"
#include "fluvial/flow/simulation.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace fluvial::python {
namespace {

/// (utilisation, seconds, tasks, the longest wait, seconds before which no scheduler can end)
nb::tuple simulate(const std::string& load, int ranks, int rounds, double error, double load_part,
                   unsigned seed) {
    const nb::gil_scoped_release release;
    std::vector<flow::SimulatedTask> tasks;
    flow::SchedulerOptions options;
    if (load == "arriving") {
        tasks = flow::arriving(ranks, load_part, 100.0 * rounds, seed);
        options.planning_effort = 50'000;
    } else if (load == "sweep") {
        tasks = flow::parameter_sweep(error, seed);
    } else {
        tasks = flow::varying_widths(ranks, rounds, error, seed);
    }
    const flow::Simulated result =
        flow::simulate(tasks, std::vector<int>(static_cast<std::size_t>(ranks), 0), options);
    double longest_wait_s = 0;
    for (const flow::Occupation& task : result.tasks) {
        longest_wait_s = std::max(longest_wait_s, task.began_s - task.arrived_s);
    }
    const double earliest_s = flow::earliest_end_s(tasks, ranks);
    const nb::gil_scoped_acquire acquire;
    return nb::make_tuple(result.utilisation(), result.end_s, result.tasks.size(), longest_wait_s,
                          earliest_s);
}

using flow::Scheduler;

/// Ranks that run simulated tasks of one host; the caller keeps the time.
void open_scheduler(Scheduler* self, int ranks) {
    new (self) Scheduler(std::vector<int>(static_cast<std::size_t>(ranks), 0), {});
}

void add(Scheduler& self, flow::TaskId task, int ranks, double priority, std::optional<double> cost,
         std::uint32_t kind, std::optional<int> near, bool strict, double now_s) {
    flow::Request request;
    request.task = task;
    request.widths = {ranks, ranks, {}};
    request.priority = priority;
    request.cost_s = cost.value_or(flow::unknown_s);
    request.kind = kind;
    if (near) {
        request.near = flow::Near{*near, false, strict};
    }
    self.add(request, now_s);
}

/// [(task, ranks)] that begin now.
nb::list next(Scheduler& self, double now_s) {
    nb::list out;
    for (const flow::Start& start : self.next(now_s)) {
        out.append(nb::make_tuple(start.task, start.ranks));
    }
    return out;
}

}  // namespace
}  // namespace fluvial::python

/// The scheduler of pools in simulated time.
void bind_flow_simulation(nanobind::module_& m) {
    using namespace fluvial::python;
    nb::class_<Scheduler>(m, "TaskScheduler")
        .def("__init__", &open_scheduler, "ranks"_a)
        .def("add", &add, "task"_a, "ranks"_a, "priority"_a, "cost"_a.none(), "kind"_a,
             "near"_a.none(), "strict"_a, "now"_a)
        .def("next", &next, "now"_a)
        .def("finish", &Scheduler::finish, "task"_a, "took"_a);
    m.def("simulate_flow", &simulate, "load"_a, "ranks"_a, "rounds"_a, "error"_a, "load_part"_a,
          "seed"_a);
}
