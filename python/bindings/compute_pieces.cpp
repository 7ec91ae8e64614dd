// SPDX-License-Identifier: Apache-2.0
#include "compute_pieces.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace fluvial::python {

std::vector<int> to_axes(nb::handle over) {
    std::vector<int> axes;
    if (over.is_none()) {
        return axes;
    }
    const nb::object several = PySequence_Check(over.ptr()) != 0 && !nb::isinstance<nb::str>(over)
                                   ? nb::borrow(over)
                                   : nb::make_tuple(nb::borrow(over));
    for (const nb::handle axis : several) {
        const Index number = to_int(axis, "an axis to reduce over");
        if (number < -ndim_max || number >= ndim_max) {
            throw OutOfBounds(Problem{"axis to reduce over is out of range", text(number),
                                      text(-ndim_max, " to ", ndim_max - 1), ""});
        }
        axes.push_back(static_cast<int>(number));
    }
    return axes;
}

compute::Domain to_domain(nb::handle shape, nb::handle dtypes, nb::handle over, nb::handle offset) {
    const Coordinates extent = to_coordinates(shape, "shape");
    volume_of(extent);  // refuses what is negative or too large
    std::vector<DType> types;
    if (nb::isinstance<nb::str>(dtypes)) {
        types.push_back(dtype_from_name(to_text(dtypes, "dtypes")));
    } else {
        for (const std::string& name :
             to<std::vector<std::string>>(dtypes, "dtypes", "a list of names, such as 'float64'")) {
            types.push_back(dtype_from_name(name));
        }
    }
    const Coordinates begin =
        offset.is_none() ? Coordinates(extent.size(), 0) : to_coordinates(offset, "offset");
    if (begin.size() != extent.size()) {
        throw InvalidArgument(Problem{"offset and shape differ in their dimensions", text(begin),
                                      text(extent.size(), " entries, for shape ", extent), ""});
    }
    return compute::make_domain({begin, extent}, to_axes(over), std::move(types));
}

nb::bytes to_bytes(const std::vector<std::byte>& bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

std::span<const std::byte> to_span(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
}

}  // namespace fluvial::python
