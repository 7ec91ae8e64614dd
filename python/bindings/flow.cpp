// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "communicator.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/simulation.hpp"
#include "fluvial/mpi/environment.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using flow::FuturePtr;
using flow::Pool;

constexpr const char* function_name = "python";

/// A buffer of Python's, for as long as this exists.
class View {
  public:
    explicit View(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
            throw nb::python_error();
        }
    }
    ~View() { PyBuffer_Release(&view_); }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    std::span<const std::byte> bytes() const {
        return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_{};
};

/// One after the other, without anything between them.
Bytes joined(const nb::list& parts) {
    std::size_t total = 0;
    for (const nb::handle part : parts) {
        total += View(part).bytes().size();
    }
    Bytes all;
    all.reserve(total);
    for (const nb::handle part : parts) {
        const View view(part);
        all.insert(all.end(), view.bytes().begin(), view.bytes().end());
    }
    return all;
}

nb::bytearray to_bytearray(std::span<const std::byte> bytes) {
    return nb::bytearray(bytes.data(), bytes.size());
}

/// What came of a call, as `run_task` says it.
enum Outcome { Failed = 0, Finished = 1, Continues = 2 };

/// `run(comm, inputs)` returns (its outcome, parts of the result, of what was raised, or of what is
/// to be done next).
Bytes run_python(const nb::object& run, const flow::Call& call) {
    const nb::gil_scoped_acquire gil;
    nb::list inputs;
    for (const auto input : call.inputs) {
        inputs.append(to_bytearray(input));
    }
    std::optional<long> comm;
    if (!call.team.serial()) {
        comm = call.team.to_fortran();
    }
    const nb::tuple answer = nb::cast<nb::tuple>(run(comm, inputs));
    Bytes result = joined(nb::cast<nb::list>(answer[1]));
    switch (nb::cast<int>(answer[0])) {
        case Outcome::Finished:
            return result;
        case Outcome::Continues:
            throw flow::Continuation{std::move(result)};
        default:
            throw flow::FunctionFailed("a Python function raised an exception", std::move(result));
    }
}

void open_pool(Pool* self, std::optional<long> handle, nb::object run, double stall_timeout_s,
               double stuck_after_s, bool lead_works, bool trace) {
    flow::Functions functions;
    // Freed with the GIL held, wherever the pool ends.
    const std::shared_ptr<nb::object> kept(new nb::object(std::move(run)), [](nb::object* object) {
        const nb::gil_scoped_acquire gil;
        delete object;
    });
    functions.add(
        function_name, [kept](const flow::Call& call) { return run_python(*kept, call); },
        flow::Runs::Parallel);
    flow::PoolOptions options;
    options.stall_timeout_s = stall_timeout_s;
    options.stuck_after_s = stuck_after_s;
    options.lead_works = lead_works;
    options.trace = trace;
    options.collects_done = true;
    const nb::gil_scoped_release release;
    mpi::Comm comm = to_comm(handle);
    new (self) Pool(std::move(comm), std::move(functions), options);
}

flow::TaskOptions options_of(const nb::dict& wanted) {
    flow::TaskOptions options;
    options.ranks.choices = nb::cast<std::vector<int>>(wanted["ranks"]);
    options.ranks.least = options.ranks.choices.front();
    options.ranks.most = options.ranks.choices.back();
    if (options.ranks.choices.size() == 1 || nb::cast<bool>(wanted["between"])) {
        options.ranks.choices.clear();
    }
    options.priority = nb::cast<double>(wanted["priority"]);
    if (const nb::object near = wanted["near"]; !near.is_none()) {
        options.near = flow::Near{nb::cast<int>(near), nb::cast<bool>(wanted["on_host"]),
                                  nb::cast<bool>(wanted["strict"])};
    }
    options.cost_s = nb::cast<double>(wanted["cost"]);
    options.timeout_s = nb::cast<double>(wanted["timeout"]);
    options.retries = nb::cast<int>(wanted["retries"]);
    options.kind = nb::cast<std::string>(wanted["kind"]);
    return options;
}

FuturePtr submit(Pool& self, const nb::list& parts, const nb::list& futures,
                 const nb::dict& wanted) {
    std::vector<flow::Argument> arguments{joined(parts)};
    for (const nb::handle future : futures) {
        arguments.emplace_back(nb::cast<FuturePtr>(future));
    }
    return self.submit(function_name, std::move(arguments), options_of(wanted)).state();
}

/// (number, result or None, failure or None, continuation or None); a failure is (kind, message,
/// rank, details).
nb::tuple outcome_tuple(const FuturePtr& future) {
    if (!future->done()) {
        return nb::make_tuple(future->task, nb::none(), nb::none(),
                              to_bytearray(*std::exchange(future->continuation, nullptr)));
    }
    if (!future->failure) {
        return nb::make_tuple(future->task, to_bytearray(*future->result), nb::none(), nb::none());
    }
    const flow::TaskFailure& failure = *future->failure;
    return nb::make_tuple(
        future->task, nb::none(),
        nb::make_tuple(failure.kind, failure.message, failure.rank, to_bytearray(failure.details)),
        nb::none());
}

nb::list wait_for_some(Pool& self, double timeout_s) {
    std::vector<FuturePtr> done;
    {
        const nb::gil_scoped_release release;
        done = self.wait_for_some(timeout_s);
    }
    nb::list out;
    for (const FuturePtr& future : done) {
        out.append(outcome_tuple(future));
    }
    return out;
}

/// One rank's events, four numbers each: begin and end (ns), the number of the kind, tasks.
nb::bytes events_bytes(std::span<const TraceEvent> events) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(4 * events.size());
    for (const TraceEvent& event : events) {
        numbers.insert(numbers.end(), {event.begin_ns, event.end_ns, event.stream, event.parts});
    }
    return nb::bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
}

/// (names of kinds, tasks, seconds in tasks, events of each rank that runs tasks by its number)
nb::tuple timeline(const Pool& self) {
    const flow::Timeline found = [&] {
        const nb::gil_scoped_release release;
        return self.timeline();
    }();
    nb::dict ranks;
    for (int rank = self.size() - self.workers(); rank < self.size(); ++rank) {
        ranks[nb::int_(rank)] = events_bytes(found.of(rank));
    }
    return nb::make_tuple(found.kinds(), found.tasks(), found.busy_s(), ranks);
}

/// Calls the method without the GIL.
template <class Result, class... Arguments>
auto freely(Result (Pool::*method)(Arguments...)) {
    return [method](Pool& self, Arguments... arguments) -> Result {
        const nb::gil_scoped_release release;
        return (self.*method)(arguments...);
    };
}

/// (ranks, utilisation, seconds, tasks)
nb::tuple simulate(const std::string& load, int ranks, int rounds, double error, double load_part,
                   unsigned seed) {
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
    const nb::gil_scoped_release release;
    const flow::Simulated result =
        flow::simulate(tasks, std::vector<int>(static_cast<std::size_t>(ranks), 0), options);
    double longest_wait_s = 0;
    for (const flow::Occupation& task : result.tasks) {
        longest_wait_s = std::max(longest_wait_s, task.began_s - task.arrived_s);
    }
    const nb::gil_scoped_acquire acquire;
    return nb::make_tuple(result.utilisation(), result.end_s, result.tasks.size(), longest_wait_s);
}

}  // namespace
}  // namespace fluvial::python

/// Pools of tasks. The GIL is free while a call blocks, and held by the functions of tasks.
void bind_flow(nanobind::module_& m) {
    using namespace fluvial::python;
    nb::class_<fluvial::flow::FutureState>(m, "TaskState")
        .def_ro("number", &fluvial::flow::FutureState::task)
        .def_prop_ro("running", [](const fluvial::flow::FutureState& self) {
            return self.phase.load() == fluvial::flow::Phase::Running;
        });
    nb::class_<Pool>(m, "TaskPool")
        .def("__init__", &open_pool, "comm"_a.none(), "run"_a, "stall_timeout"_a, "stuck_after"_a,
             "lead_works"_a, "trace"_a)
        .def_prop_ro("leads", &Pool::leads)
        .def_prop_ro("rank", &Pool::rank)
        .def_prop_ro("size", &Pool::size)
        .def_prop_ro("workers", &Pool::workers)
        .def("submit", &submit, "parts"_a, "futures"_a, "options"_a)
        .def(
            "known",
            [](Pool& self, const nb::list& parts) { return self.known(joined(parts)).state(); },
            "parts"_a)
        .def(
            "failed",
            [](Pool& self, const nb::list& parts) {
                return self.failed({"Error", "", -1, joined(parts)}).state();
            },
            "parts"_a)
        .def("follow", freely(&Pool::follow), "task"_a, "other"_a)
        .def("wait_for_some", &wait_for_some, "timeout"_a)
        .def("wake", &Pool::wake)
        .def("cancel", freely(&Pool::cancel), "task"_a)
        .def("timeline", &timeline)
        .def("close", freely(&Pool::close))
        .def("cancel_and_close", freely(&Pool::cancel_and_close));
    m.def("simulate_flow", &simulate, "load"_a, "ranks"_a, "rounds"_a, "error"_a, "load_part"_a,
          "seed"_a);
    m.def("threads_may_call_mpi", [] {
        return !fluvial::mpi::running() ||
               fluvial::mpi::thread_level() == fluvial::mpi::ThreadLevel::Multiple;
    });
}
