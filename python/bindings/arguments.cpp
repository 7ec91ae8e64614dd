// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <nanobind/stl/string.h>

#include "python_failure.hpp"

namespace fluvial::python {

std::string shown(nb::handle object) {
    return nb::cast<std::string>(
        nb::module_::import_("fluvial.base.messages").attr("shown")(object));
}

void throw_wrong_type(const std::string& what, nb::handle seen, const std::string& allowed,
                      const std::string& remedy) {
    throw WrongType(
        Problem{what + " has a type that cannot be used", shown(seen), allowed, remedy});
}

void throw_as_ours(const nb::python_error& error) {
    const auto said = [&] { return to_utf8(error.value()); };
    if (error.matches(nb::module_::import_("fluvial._core").attr("Error"))) {
        throw_error(nb::cast<std::string>(error.type().attr("__name__")), said());
    }
    if (error.matches(PyExc_TypeError)) {
        throw WrongType(said());
    }
    if (error.matches(PyExc_ValueError)) {
        throw InvalidArgument(said());
    }
}

Index to_int(nb::handle object, const char* what) {
    const nb::object number =
        PyBool_Check(object.ptr()) ? nb::object() : nb::steal(PyNumber_Index(object.ptr()));
    if (!number.is_valid()) {
        PyErr_Clear();
        throw_wrong_type(what, object, "an int", "Convert a number with int(...)");
    }
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) {
        throw InvalidArgument(
            Problem{text(what, " is out of range"), shown(object), "an int of 64 bits", ""});
    }
    if (value == -1 && PyErr_Occurred() != nullptr) {
        throw nb::python_error();
    }
    return value;
}

std::string to_text(nb::handle object, const char* what) {
    return to<std::string>(object, what, "a str");
}

Coordinates to_coordinates(nb::handle object, const char* what) {
    if (!PyTuple_CheckExact(object.ptr()) && PyIndex_Check(object.ptr()) != 0 &&
        !nb::hasattr(object, "__len__")) {
        return {to_int(object, what)};
    }
    const bool is_text = PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) ||
                         PyByteArray_Check(object.ptr());
    if (is_text || PySequence_Check(object.ptr()) == 0) {
        throw_wrong_type(what, object, "a sequence of int, one an axis");
    }
    Coordinates out;
    for (const nb::handle entry : object) {
        int overflow = 1;
        const Index value = PyLong_CheckExact(entry.ptr())
                                ? PyLong_AsLongLongAndOverflow(entry.ptr(), &overflow)
                                : 0;
        out.push_back(overflow == 0 ? value : to_int(entry, text("an entry of ", what).c_str()));
    }
    return out;
}

}  // namespace fluvial::python
