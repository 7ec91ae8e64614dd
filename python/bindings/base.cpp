// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace {

/// The exception classes by the kind that Error::kind gives. Never freed: errors may outlive the
/// module.
std::map<std::string, PyObject*>& classes() {
    static std::map<std::string, PyObject*> by_kind;
    return by_kind;
}

PyObject* add_class(nb::module_& m, const char* kind, const char* doc,
                    std::initializer_list<PyObject*> bases) {
    nb::list list;
    for (PyObject* base : bases) {
        list.append(nb::borrow(base));
    }
    const std::string name = std::string("fluvial.") + kind;
    PyObject* type = PyErr_NewExceptionWithDoc(name.c_str(), doc, nb::tuple(list).ptr(), nullptr);
    classes()[kind] = type;
    m.attr(kind) = nb::borrow(type);
    return type;
}

/// The errors of the caller: each is also what Python has for it.
void add_argument_classes(nb::module_& m, PyObject* error) {
    PyObject* const invalid = add_class(
        m, "InvalidArgument", "A value that the call cannot accept.", {error, PyExc_ValueError});
    add_class(m, "WrongType", "A value of a type that the call does not take.",
              {invalid, PyExc_TypeError});
    add_class(m, "UnknownName", "Nothing has this name: a dataset, an operator, an option.",
              {invalid, PyExc_KeyError});
    add_class(m, "OutOfBounds", "An index, an axis or a region that is not in the data.",
              {invalid, PyExc_IndexError});
    add_class(m, "OutOfRange", "A number that the type asked for cannot hold.",
              {invalid, PyExc_OverflowError});
}

/// The errors of the world.
void add_world_classes(nb::module_& m, PyObject* error) {
    add_class(m, "TimedOut", "A deadline passed; the object is still usable.",
              {error, PyExc_TimeoutError});
    const nb::object broken = nb::module_::import_("concurrent.futures").attr("BrokenExecutor");
    PyObject* const lost =
        add_class(m, "PeerLost", "A process of the other (or the own) job is dead.",
                  {error, PyExc_ConnectionError, broken.ptr()});
    add_class(m, "PeerStalled", "A process is alive but gives no heartbeat.", {lost});
    const nb::object cancelled = nb::module_::import_("concurrent.futures").attr("CancelledError");
    add_class(
        m, "TaskCancelled",
        "A task was cancelled, or another one whose result it needs or that was to start with "
        "it.",
        {error, cancelled.ptr()});
    add_class(m, "Refused", "Authentication failed.", {error, PyExc_PermissionError});
    add_class(m, "StaleContact", "A contact file whose writer is dead.",
              {error, PyExc_ConnectionError});
    add_class(m, "DamagedFile", "A file whose bytes are not what its format says.",
              {error, PyExc_OSError});
    add_class(m, "DamagedMessage", "Bytes that came by messages are not those that were sent.",
              {error, PyExc_OSError});
    PyObject* const system = add_class(
        m, "SystemError", "The operating system or MPI refused a call.", {error, PyExc_OSError});
    PyObject* const no_file = add_class(m, "NoSuchFile", "A path at which there is nothing.",
                                        {system, PyExc_FileNotFoundError});
    PyObject* const not_permitted =
        add_class(m, "NotPermitted", "A file or a call that this user may not use.",
                  {system, PyExc_PermissionError});
    nb::borrow(no_file).attr("errno") = ENOENT;
    nb::borrow(not_permitted).attr("errno") = EACCES;
}

void raise(const char* kind, const char* message) {
    const auto found = classes().find(kind);
    PyErr_SetString(found != classes().end() ? found->second : classes()["Error"], message);
}

void raise_in_python(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const fluvial::Error& error) {
        raise(error.kind(), error.what());
    } catch (const std::bad_cast&) {  // of nb::cast, where no binding looked at the type before
        raise("WrongType",
              "an argument has a type that the call does not take; see the call's documentation");
    } catch (const std::bad_alloc&) {
        raise("SystemError", "there is no memory for what was asked for. Ask for less at once");
    } catch (const std::length_error&) {
        raise("SystemError", "no memory can hold what was asked for. Ask for less at once");
    }
}

}  // namespace

/// Exception classes, names that were meant, and Ctrl-C in blocking calls.
void bind_base(nb::module_& m) {
    PyObject* const error = add_class(
        m, "Error",
        "What the world or the caller did wrong: says what, the value, what is allowed, a remedy.",
        {PyExc_RuntimeError});
    // KeyError and OSError, which some classes are too, would print quotes and numbers.
    nb::borrow(error).attr("__str__") = nb::borrow(PyExc_BaseException).attr("__str__");
    add_argument_classes(m, error);
    add_world_classes(m, error);
    m.def(
        "did_you_mean",
        [](const std::string& seen, const std::vector<std::string>& known) {
            return fluvial::did_you_mean(seen, known);
        },
        "seen"_a, "known"_a,
        "\"Did you mean 'x'?\" for the nearest of the names; empty where none is near.");
    m.def(
        "shortened", [](const std::string& value) { return fluvial::shortened(value); }, "value"_a,
        "The text with its middle left out where it is longer than a message shows.");
    nb::register_exception_translator(raise_in_python);
    // A child by fork leaves what it inherited as it is, which is no leak.
    static const auto* const quiet = new fluvial::ForkHook([] { nb::set_leak_warnings(false); });
    static_cast<void>(quiet);
    fluvial::set_interrupt_check([] {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
    });
}
