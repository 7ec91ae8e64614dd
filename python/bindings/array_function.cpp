// SPDX-License-Identifier: Apache-2.0
#include "array_function.hpp"

#include <algorithm>

#include <nanobind/stl/string.h>

#include "arguments.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "python_failure.hpp"

namespace fluvial::python {
namespace {

/// "a.py, line 7": where it was raised.
std::string place_of(const nb::python_error& error) {
    nb::object at = error.traceback();
    if (!at.is_valid() || at.is_none()) {
        return "";
    }
    while (!at.attr("tb_next").is_none()) {
        at = at.attr("tb_next");
    }
    const std::string file = to_utf8(at.attr("tb_frame").attr("f_code").attr("co_filename"));
    return text(" (", file.substr(file.rfind('/') + 1), ", line ",
                nb::cast<int>(at.attr("tb_lineno")), ")");
}

std::string in_one_line(const nb::python_error& error) {
    std::string said = to_utf8(error.value());
    std::replace(said.begin(), said.end(), '\n', ' ');
    return text(nb::cast<std::string>(error.type().attr("__name__")), said.empty() ? "" : ": ",
                shortened(said), place_of(error));
}

std::string described(nb::handle value) {
    if (nb::hasattr(value, "dtype") && nb::hasattr(value, "shape")) {
        const nb::object dtype = value.attr("dtype");
        const nb::object shape = value.attr("shape");
        return text("an array of ", nb::cast<std::string>(nb::str(dtype)), ", shape ",
                    nb::cast<std::string>(nb::str(shape)));
    }
    return shown(value);
}

}  // namespace

nb::object ArrayFunction::call(const nb::list& arrays) const {
    try {
        return (*function_)(*nb::tuple(arrays));
    } catch (const nb::python_error& error) {
        if (error.matches(nb::module_::import_("fluvial._core").attr("Error"))) {
            throw_as_ours(error);
        }
        throw PythonFailure(error, text(role_, " '", name_, "' raised ", in_one_line(error)));
    }
}

std::string ArrayFunction::allowed(const Coordinates& extent) const {
    return text("an array of ", returns_ == Returns::Bool ? "bool" : "numbers", " of shape ",
                nb::cast<std::string>(nb::str(to_tuple(extent))),
                ", as its arguments, or one value for all");
}

nb::object ArrayFunction::operator()(const nb::list& arrays, const Coordinates& extent) const {
    const nb::object value = call(arrays);
    const char* const remedy = value.is_none() ? "Has the function no `return`?"
                               : returns_ == Returns::Bool
                                   ? "Return a comparison of whole arrays, such as `values > 0`"
                                   : "Return what NumPy computes of each element, such as "
                                     "`values ** 2`";
    nb::object array;
    try {
        array = nb::module_::import_("numpy").attr("asarray")(value);
    } catch (const nb::python_error&) {  // lists of different lengths
    }
    const std::string kinds = returns_ == Returns::Bool ? "b" : "biufc";
    if (!array.is_valid() ||
        kinds.find(nb::cast<std::string>(array.attr("dtype").attr("kind"))) == std::string::npos) {
        throw WrongType(Problem{text(role_, " '", name_, "' does not return ",
                                     returns_ == Returns::Bool ? "bool" : "numbers"),
                                described(value), allowed(extent), remedy});
    }
    const nb::object shape = array.attr("shape");
    if (nb::len(shape) > 0 && !shape.equal(to_tuple(extent))) {
        throw InvalidArgument(Problem{text(role_, " '", name_, "' returns another shape"),
                                      described(array), allowed(extent), remedy});
    }
    return array;
}

}  // namespace fluvial::python
