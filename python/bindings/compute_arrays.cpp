// SPDX-License-Identifier: Apache-2.0
// NumPy arrays as views and back.
#include <cstring>

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "compute.hpp"

namespace fluvial::python {
namespace {

/// The dtype of a buffer-protocol format, e.g. "d", "<f", "Zd"; none when Fluvial has no such
/// dtype.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t bytes) {
    if (format == nullptr) {
        return DType::UInt8;
    }
    if (*format == '>' || *format == '!') {
        return std::nullopt;
    }
    format += *format == '<' || *format == '=' || *format == '@';
    const bool complex = *format == 'Z';
    format += complex;
    if (std::strlen(format) != 1) {
        return std::nullopt;
    }
    if (complex) {
        return *format == 'f'   ? std::optional(DType::Complex64)
               : *format == 'd' ? std::optional(DType::Complex128)
                                : std::nullopt;
    }
    switch (*format) {
        case 'e':
            return DType::Float16;
        case 'f':
            return DType::Float32;
        case 'd':
            return DType::Float64;
        case '?':
            return DType::UInt8;
        default:
            break;
    }
    const bool is_signed = std::strchr("bhilq", *format) != nullptr;
    if (!is_signed && std::strchr("BHILQ", *format) == nullptr) {
        return std::nullopt;
    }
    switch (bytes) {
        case 1:
            return is_signed ? DType::Int8 : DType::UInt8;
        case 2:
            return is_signed ? DType::Int16 : DType::UInt16;
        case 4:
            return is_signed ? DType::Int32 : DType::UInt32;
        case 8:
            return is_signed ? DType::Int64 : DType::UInt64;
        default:
            return std::nullopt;
    }
}

/// What to do about an array of a dtype that Fluvial does not have.
std::string remedy_for(nb::handle object) {
    const bool typed = nb::hasattr(object, "dtype") && nb::hasattr(object.attr("dtype"), "kind");
    const std::string kind =
        typed ? nb::cast<std::string>(nb::str(object.attr("dtype").attr("kind"))) : "";
    if (kind == "M" || kind == "m") {
        return "Pass array.astype('int64'), and say in an attribute what it counts, e.g. "
               "units='ns since 1970-01-01'";
    }
    const bool numbers = kind == "i" || kind == "u" || kind == "f" || kind == "c";
    if (numbers && nb::hasattr(object.attr("dtype"), "isnative") &&
        !nb::cast<bool>(object.attr("dtype").attr("isnative"))) {
        return "Convert it with array.astype(array.dtype.newbyteorder('='))";
    }
    return kind == "O" ? "The array holds Python objects: convert it with array.astype(float), "
                         "or build it of numbers, all rows of one length"
                       : "Convert it with array.astype(...)";
}

[[noreturn]] void throw_unsupported(nb::handle object, const std::string& remedy) {
    throw WrongType(
        Problem{"unsupported array", shown(object),
                text("int8 to int64, uint8 to uint64, bool, float16, float32, float64, complex64, "
                     "complex128 in native byte order, up to ",
                     ndim_max, " dimensions"),
                remedy});
}

}  // namespace

nb::dlpack::dtype dlpack_dtype(DType dtype) {
    const auto bits = static_cast<std::uint8_t>(size_of(dtype) * 8);
    const auto code = is_complex(dtype)          ? nb::dlpack::dtype_code::Complex
                      : is_floating(dtype)       ? nb::dlpack::dtype_code::Float
                      : is_signed_integer(dtype) ? nb::dlpack::dtype_code::Int
                                                 : nb::dlpack::dtype_code::UInt;
    return {static_cast<std::uint8_t>(code), bits, 1};
}

BorrowedArray::BorrowedArray(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
        PyErr_Clear();
        throw_unsupported(object, remedy_for(object));
    }
    held_ = true;
    const auto dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
    if (!dtype || buffer_.ndim > ndim_max) {
        const std::string remedy =
            dtype ? text("It has ", buffer_.ndim, ": join some of them by array.reshape(...)")
                  : remedy_for(object);
        PyBuffer_Release(&buffer_);
        throw_unsupported(object, remedy);
    }
    Coordinates extent(buffer_.ndim, 0);
    for (int axis = 0; axis < buffer_.ndim; ++axis) {
        extent[axis] = buffer_.shape[axis];
    }
    // NumPy's scalars of time leave the strides out, although they were asked for.
    view_ = buffer_.strides == nullptr
                ? ArrayView(buffer_.buf, *dtype, extent)
                : ArrayView(buffer_.buf, *dtype, extent,
                            Coordinates(std::span<const Index>(
                                buffer_.strides, static_cast<std::size_t>(buffer_.ndim))));
}

BorrowedArray::~BorrowedArray() {
    if (held_) {
        PyBuffer_Release(&buffer_);
    }
}

BorrowedArray::BorrowedArray(BorrowedArray&& other) noexcept
    : buffer_(other.buffer_), held_(std::exchange(other.held_, false)), view_(other.view_) {}

nb::object to_numpy(const compute::Array& array) {
    const auto numpy = nb::module_::import_("numpy");
    const nb::object bytes =
        nb::steal(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(array.bytes.data()),
                                                static_cast<Py_ssize_t>(array.bytes.size())));
    return numpy.attr("frombuffer")(bytes, std::string(name_of(array.dtype)))
        .attr("reshape")(to_tuple(array.shape));
}

nb::dict to_numpy(const compute::Result& result) {
    nb::dict out;
    for (const auto& [name, array] : result) {
        out[name.c_str()] = to_numpy(array);
    }
    return out;
}

compute::Array dense_copy(const ArrayView& view) {
    compute::Array dense(view.dtype, view.extent);
    copy(view, {dense.bytes.data(), view.dtype, view.extent,
                contiguous_strides(view.extent, size_of(view.dtype))});
    return dense;
}

nb::object lend_to_numpy(const ArrayView& view) {
    const Index item = static_cast<Index>(size_of(view.dtype));
    std::size_t shape[ndim_max];
    std::int64_t strides[ndim_max];
    bool whole_strides = true;
    for (int axis = 0; axis < view.ndim(); ++axis) {
        shape[axis] = static_cast<std::size_t>(view.extent[axis]);
        strides[axis] = view.strides[axis] / item;
        whole_strides = whole_strides && view.strides[axis] % item == 0;
    }
    const nb::capsule owner(view.data, [](void*) noexcept {});
    if (!whole_strides) {  // fields of packed records: NumPy counts strides in elements when it
                           // takes foreign memory
        return to_numpy(dense_copy(view));
    }
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(view.data, static_cast<std::size_t>(view.ndim()),
                                                   shape, owner, strides, dlpack_dtype(view.dtype)),
                    nb::rv_policy::reference);
}

compute::Array from_numpy(nb::handle object) {
    const nb::object array = nb::module_::import_("numpy").attr("asarray")(object);
    const BorrowedArray borrowed(array);
    return dense_copy(borrowed.view());
}

nb::tuple to_tuple(const Coordinates& coordinates) {
    nb::list out;
    for (const Index entry : coordinates) {
        out.append(entry);
    }
    return nb::tuple(out);
}

std::optional<Selection> to_selection(nb::handle selection) {
    if (selection.is_none()) {
        return std::nullopt;
    }
    return Selection{to_coordinates(selection[0], "the start of the selection"),
                     to_coordinates(selection[1], "the count of the selection"),
                     to_coordinates(selection[2], "the stride of the selection")};
}

}  // namespace fluvial::python
