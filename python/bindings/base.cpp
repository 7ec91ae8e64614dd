// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <nanobind/nanobind.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/base/interrupt.hpp"

namespace nb = nanobind;

namespace {

/// The exception classes by the kind that Error::kind gives. Never freed: errors may outlive the
/// module.
std::map<std::string, PyObject*>& classes() {
    static std::map<std::string, PyObject*> by_kind;
    return by_kind;
}

void add_class(nb::module_& m, const char* kind, const char* doc,
               std::initializer_list<PyObject*> bases) {
    nb::list list;
    for (PyObject* base : bases) {
        list.append(nb::borrow(base));
    }
    const std::string name = std::string("fluvial.") + kind;
    PyObject* type = PyErr_NewExceptionWithDoc(name.c_str(), doc, nb::tuple(list).ptr(), nullptr);
    classes()[kind] = type;
    m.attr(kind) = nb::borrow(type);
}

void raise_in_python(const std::exception_ptr& pointer, void*) {
    try {
        std::rethrow_exception(pointer);
    } catch (const fluvial::Error& error) {
        const auto found = classes().find(error.kind());
        PyErr_SetString(found != classes().end() ? found->second : classes()["Error"],
                        error.what());
    }
}

}  // namespace

/// Exception classes, and Ctrl-C in blocking calls.
void bind_base(nb::module_& m) {
    add_class(
        m, "Error",
        "What the world or the caller did wrong: says what, the value, what is allowed, a remedy.",
        {PyExc_RuntimeError});
    PyObject* error = classes()["Error"];
    add_class(m, "InvalidArgument", "A value that the call cannot accept.",
              {error, PyExc_ValueError});
    add_class(m, "TimedOut", "A deadline passed; the object is still usable.",
              {error, PyExc_TimeoutError});
    add_class(m, "PeerLost", "A process of the other (or the own) job is dead.",
              {error, PyExc_ConnectionError});
    add_class(m, "PeerStalled", "A process is alive but gives no heartbeat.",
              {classes()["PeerLost"]});
    add_class(m, "Refused", "Authentication failed.", {error, PyExc_PermissionError});
    add_class(m, "StaleContact", "A contact file whose writer is dead.",
              {error, PyExc_ConnectionError});
    add_class(m, "DamagedFile", "A file whose bytes are not what its format says.",
              {error, PyExc_OSError});
    add_class(m, "SystemError", "The operating system or MPI refused a call.", {error});
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
