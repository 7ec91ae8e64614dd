// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "communicator.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/task_library.hpp"
#include "fluvial/mpi/environment.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using flow::FuturePtr;
using flow::Pool;

constexpr const char* function_name = "python";
constexpr const char* exported_function = "exported";

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
    const nb::tuple returned = nb::cast<nb::tuple>(run(comm, inputs));
    Bytes result = joined(nb::cast<nb::list>(returned[1]));
    switch (nb::cast<int>(returned[0])) {
        case Outcome::Finished:
            return result;
        case Outcome::Continues:
            throw flow::Continuation{std::move(result)};
        default:
            throw flow::FunctionFailed("a Python function raised an exception", std::move(result));
    }
}

void open_pool(Pool* self, std::optional<long> handle, nb::object run, double stall_timeout_s,
               double stuck_after_s, std::map<std::string, double> resources, bool lead_works,
               int servers, bool audit, bool trace) {
    flow::Functions functions;
    // Freed with the GIL held, wherever the pool ends.
    const std::shared_ptr<nb::object> kept(new nb::object(std::move(run)), [](nb::object* object) {
        const nb::gil_scoped_acquire gil;
        delete object;
    });
    functions.add(
        function_name, [kept](const flow::Call& call) { return run_python(*kept, call); },
        flow::Runs::Parallel);
    functions.add(
        exported_function,
        [](const flow::Call& call) {
            return flow::call_exported(call.team, call.inputs[0], call.inputs[1]);
        },
        flow::Runs::Parallel);
    flow::PoolOptions options;
    options.stall_timeout_s = stall_timeout_s;
    options.stuck_after_s = stuck_after_s;
    options.scheduler.resources = std::move(resources);
    options.lead_works = lead_works;
    options.servers = servers;
    options.audits = audit;
    options.trace = trace;
    options.collects_done = true;
    // Nobody uses it, and without a handler it does nothing (interrupting.py).
    options.cancel_signal = SIGURG;
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
        const bool is_rank = nb::isinstance<nb::int_>(near);
        options.near =
            flow::Near{is_rank ? nb::cast<int>(near) : 0, nb::cast<bool>(wanted["on_host"]),
                       nb::cast<bool>(wanted["strict"])};
        options.near_task = is_rank ? nullptr : nb::cast<FuturePtr>(near);
    }
    options.cost_s = nb::cast<double>(wanted["cost"]);
    options.timeout_s = nb::cast<double>(wanted["timeout"]);
    options.retries = nb::cast<int>(wanted["retries"]);
    options.kind = nb::cast<std::string>(wanted["kind"]);
    options.keep_parts = nb::isinstance<nb::str>(wanted["keep"]);  // "parts"
    options.keep = !options.keep_parts && nb::cast<bool>(wanted["keep"]);
    options.fresh = nb::cast<bool>(wanted["fresh"]);
    options.exclusive = nb::cast<bool>(wanted["exclusive"]);
    options.resources = nb::cast<std::map<std::string, double>>(wanted["resources"]);
    return options;
}

/// A future in a tuple of one: each rank gets its own part of it.
std::vector<flow::Argument> arguments_of(const nb::list& parts, const nb::list& futures) {
    std::vector<flow::Argument> arguments{joined(parts)};
    for (const nb::handle future : futures) {
        if (nb::isinstance<nb::tuple>(future)) {
            arguments.emplace_back(flow::OwnPart{nb::cast<FuturePtr>(future[0])});
        } else {
            arguments.emplace_back(nb::cast<FuturePtr>(future));
        }
    }
    return arguments;
}

FuturePtr submit(Pool& self, const nb::list& parts, const nb::list& futures,
                 const nb::dict& wanted) {
    return self.submit(function_name, arguments_of(parts, futures), options_of(wanted)).state();
}

/// `tasks`: of each task, what submit() takes.
std::vector<FuturePtr> submit_together(Pool& self, const nb::list& tasks) {
    std::vector<Pool::Wanted> wanted;
    for (const nb::handle one : tasks) {
        const auto task = nb::cast<nb::tuple>(one);
        wanted.push_back({function_name,
                          arguments_of(nb::cast<nb::list>(task[0]), nb::cast<nb::list>(task[1])),
                          options_of(nb::cast<nb::dict>(task[2]))});
    }
    std::vector<FuturePtr> states;
    for (const flow::Future& future : self.submit_together(std::move(wanted))) {
        states.push_back(future.state());
    }
    return states;
}

/// One task for each message of inputs; all are given to the server at once, without the GIL.
std::vector<FuturePtr> submit_exported(Pool& self, const std::string& path, const std::string& name,
                                       const nb::list& calls, const nb::dict& wanted) {
    const auto named = std::make_shared<const Bytes>(flow::exported_name(path, name));
    const flow::TaskOptions options = options_of(wanted);
    std::vector<std::vector<flow::Argument>> arguments;
    arguments.reserve(calls.size());
    for (const nb::handle call : calls) {
        const std::span<const std::byte> bytes = View(call).bytes();
        arguments.push_back({named, Bytes(bytes.begin(), bytes.end())});
    }
    std::vector<FuturePtr> futures;
    futures.reserve(arguments.size());
    const nb::gil_scoped_release release;
    for (auto& each : arguments) {
        futures.push_back(self.submit(exported_function, std::move(each), options).state());
    }
    return futures;
}

/// (name, codes of the inputs, of the outputs, whether it is parallel) of each function that a
/// library exports; None where it exports none.
nb::object exported_tasks(const std::string& path) {
    const auto tasks = flow::exported_by(path);
    if (!tasks) {
        return nb::none();
    }
    nb::list out;
    for (const fluvial_exported_task& task : *tasks) {
        out.append(nb::make_tuple(task.name, task.inputs, task.outputs, task.parallel != 0));
    }
    return out;
}

/// Calls such a function here; the communicator is the caller's.
nb::bytes call_exported(const std::string& path, const std::string& name, std::optional<long> comm,
                        const nb::bytes& inputs) {
    const Bytes named = flow::exported_name(path, name);
    const auto* begin = static_cast<const std::byte*>(inputs.data());
    Bytes result;
    {
        const nb::gil_scoped_release release;
        mpi::Comm team = to_comm(comm);
        result = flow::call_exported(team, named, {begin, inputs.size()});
        team.close();
    }
    return nb::bytes(result.data(), result.size());
}

/// (number, result or None, failure or None, continuation or None), all None for a result that has
/// stayed on its rank; a failure is (kind, message, rank, details).
nb::tuple outcome_tuple(const FuturePtr& future) {
    if (!future->done()) {
        return nb::make_tuple(future->task, nb::none(), nb::none(),
                              to_bytearray(*std::exchange(future->ties->continuation, nullptr)));
    }
    if (!future->failure && !future->result) {
        return nb::make_tuple(future->task, nb::none(), nb::none(), nb::none());
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

/// The result of a task that is done; None when it has not come from its rank in that time.
nb::object result_of(Pool& self, const FuturePtr& future, double timeout_s) {
    std::shared_ptr<const Bytes> result;
    {
        const nb::gil_scoped_release release;
        result = self.result(future, timeout_s);
    }
    return result ? nb::object(to_bytearray(*result)) : nb::none();
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
    for (const int rank : self.worker_ranks()) {
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

}  // namespace
}  // namespace fluvial::python

/// Pools of tasks. The GIL is free while a call blocks, and held by the functions of tasks.
void bind_flow(nanobind::module_& m) {
    using namespace fluvial::python;
    nb::class_<fluvial::flow::FutureState>(m, "TaskState")
        .def_ro("number", &fluvial::flow::FutureState::task)
        .def_prop_ro("parts",
                     [](const fluvial::flow::FutureState& self) {
                         const auto parts = self.parts();
                         return std::vector<FuturePtr>(parts.begin(), parts.end());
                     })
        .def_prop_ro("running", [](const fluvial::flow::FutureState& self) {
            return self.phase.load() == fluvial::flow::Phase::Running;
        });
    nb::class_<Pool>(m, "TaskPool")
        .def("__init__", &open_pool, "comm"_a.none(), "run"_a, "stall_timeout"_a, "stuck_after"_a,
             "resources"_a, "lead_works"_a, "servers"_a, "audit"_a, "trace"_a)
        .def_prop_ro("leads", &Pool::leads)
        .def_prop_ro("rank", &Pool::rank)
        .def_prop_ro("size", &Pool::size)
        .def_prop_ro("workers", &Pool::workers)
        .def("check_process", &Pool::check_process)
        .def("submit", &submit, "parts"_a, "futures"_a, "options"_a)
        .def("submit_exported", &submit_exported, "path"_a, "name"_a, "calls"_a, "options"_a)
        .def("submit_together", &submit_together, "tasks"_a)
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
        .def("result", &result_of, "task"_a, "timeout"_a)
        .def("cancel", freely(&Pool::cancel), "task"_a, "running"_a = false)
        .def("timeline", &timeline)
        .def("close", freely(&Pool::close))
        .def("cancel_and_close", freely(&Pool::cancel_and_close));
    m.def("exported_tasks", &exported_tasks, "path"_a);
    m.def("call_exported", &call_exported, "path"_a, "name"_a, "comm"_a.none(), "inputs"_a);
    m.def("task_cancelled", &fluvial::flow::task_cancelled,
          "Whether the program has cancelled the task that this thread runs. Local.");
    m.def("take_cancellation", &fluvial::flow::take_cancellation,
          "Whether the task that this thread runs is to end, and has not been told. Local.");
    m.def("threads_may_call_mpi", [] {
        return !fluvial::mpi::running() ||
               fluvial::mpi::thread_level() == fluvial::mpi::ThreadLevel::Multiple;
    });
}
