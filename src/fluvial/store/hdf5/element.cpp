// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/element.hpp"

#include <array>
#include <bit>
#include <limits>
#include <memory>

namespace fluvial::store {

namespace {

constexpr H5T_order_t native_order =
    std::endian::native == std::endian::little ? H5T_ORDER_LE : H5T_ORDER_BE;

struct Ieee {
    DType dtype;
    std::size_t bytes, sign_at, exponent_at, exponent_bits, mantissa_bits, bias;
};
constexpr std::array<Ieee, 3> ieee = {{{DType::Float16, 2, 15, 10, 5, 10, 15},
                                       {DType::Float32, 4, 31, 23, 8, 23, 127},
                                       {DType::Float64, 8, 63, 52, 11, 52, 1023}}};

struct FreeHdf5 {
    void operator()(char* memory) const { H5free_memory(memory); }
};

std::string member_name(hid_t type, unsigned member) {
    const std::unique_ptr<char, FreeHdf5> name(H5Tget_member_name(type, member));
    return name == nullptr ? "" : name.get();
}

Hdf5Element unusable(std::string why) {
    Hdf5Element element;
    element.why = std::move(why);
    return element;
}

bool all_bits_used(hid_t type) {
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

Hdf5Element usable(DType dtype, hid_t type) {
    Hdf5Element element;
    element.dtype = dtype;
    element.swapped = H5Tget_size(type) > 1 && H5Tget_order(type) != native_order;
    return element;
}

Hdf5Element integer_of(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    const H5T_sign_t sign = H5Tget_sign(type);
    if (!std::has_single_bit(bytes) || bytes > 8 || !all_bits_used(type) || sign < 0) {
        return unusable(
            text("an integer of ", H5Tget_precision(type), " bits in ", bytes, " bytes"));
    }
    const int log2 = std::countr_zero(bytes);
    return usable(static_cast<DType>((sign == H5T_SGN_NONE ? 4 : 0) + log2), type);
}

Hdf5Element float_of(hid_t type) {
    std::size_t sign_at = 0, exponent_at = 0, exponent_bits = 0, mantissa_at = 0, mantissa_bits = 0;
    const bool known = H5Tget_fields(type, &sign_at, &exponent_at, &exponent_bits, &mantissa_at,
                                     &mantissa_bits) >= 0;
    for (const Ieee& f : ieee) {
        if (known && H5Tget_size(type) == f.bytes && all_bits_used(type) && sign_at == f.sign_at &&
            exponent_at == f.exponent_at && exponent_bits == f.exponent_bits && mantissa_at == 0 &&
            mantissa_bits == f.mantissa_bits && H5Tget_ebias(type) == f.bias &&
            H5Tget_norm(type) == H5T_NORM_IMPLIED) {
            return usable(f.dtype, type);
        }
    }
    return unusable(text("a floating-point type of ", H5Tget_size(type),
                         " bytes that is not IEEE's of 16, 32 or 64 bits"));
}

Hdf5Element complex_of(hid_t type) {
    const Hdf5Element no = unusable("a compound type");
    if (H5Tget_nmembers(type) != 2) {
        return no;
    }
    const std::string names = member_name(type, 0) + "," + member_name(type, 1);
    const Hdf5Id real(H5Tget_member_type(type, 0)), imaginary(H5Tget_member_type(type, 1));
    if (!real.valid() || !imaginary.valid() || (names != "r,i" && names != "real,imag") ||
        H5Tget_class(real) != H5T_FLOAT || H5Tequal(real, imaginary) <= 0 ||
        H5Tget_member_offset(type, 0) != 0 || H5Tget_member_offset(type, 1) != H5Tget_size(real) ||
        H5Tget_size(type) != 2 * H5Tget_size(real)) {
        return no;
    }
    Hdf5Element part = float_of(real);
    if (part.dtype != DType::Float32 && part.dtype != DType::Float64) {
        return no;
    }
    part.dtype = part.dtype == DType::Float32 ? DType::Complex64 : DType::Complex128;
    return part;
}

/// h5py writes bool as an enumeration of int8: FALSE = 0, TRUE = 1.
bool is_boolean(hid_t type) {
    if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) {
        return false;
    }
    for (unsigned i = 0; i < 2; ++i) {
        std::int8_t value = -1;
        if (H5Tget_member_value(type, i, &value) < 0 ||
            member_name(type, i) != (value == 0   ? "FALSE"
                                     : value == 1 ? "TRUE"
                                                  : "?")) {
            return false;
        }
    }
    return true;
}

}  // namespace

Hdf5Element element_of(hid_t type) {
    switch (H5Tget_class(type)) {
        case H5T_INTEGER:
            return integer_of(type);
        case H5T_FLOAT:
            return float_of(type);
        case H5T_COMPOUND:
            return complex_of(type);
        case H5T_ENUM:
            if (is_boolean(type)) {
                Hdf5Element element;
                element.dtype = DType::Int8;
                element.boolean = true;
                return element;
            }
            return unusable("an enumeration");
        case H5T_STRING:
            return unusable("text");
        case H5T_BITFIELD:
            return unusable("a bit field");
        case H5T_OPAQUE:
            return unusable("an opaque type");
        case H5T_REFERENCE:
            return unusable("references");
        case H5T_VLEN:
            return unusable("sequences of variable length");
        case H5T_ARRAY:
            return unusable("an array type");
        case H5T_TIME:
            return unusable("HDF5's time type");
        default:
            return unusable("a datatype that this libhdf5 does not know");
    }
}

Hdf5Id memory_type(hid_t type, DType dtype) {
    const std::string what = "HDF5 has no memory type for " + std::string(name_of(dtype));
    if (!is_complex(dtype)) {
        Hdf5Id native(hdf5_checked(H5Tcopy(type), what));
        if (size_of(dtype) > 1) {
            hdf5_checked(H5Tset_order(native, native_order), what);
        }
        return native;
    }
    const hid_t part = dtype == DType::Complex64 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    Hdf5Id native(hdf5_checked(H5Tcreate(H5T_COMPOUND, size_of(dtype)), what));
    for (unsigned i = 0; i < 2; ++i) {
        hdf5_checked(H5Tinsert(native, member_name(type, i).c_str(), i * size_of(dtype) / 2, part),
                     what);
    }
    return native;
}

std::optional<Hdf5Shape> shape_of(hid_t space, const std::string& what) {
    if (hdf5_checked(H5Sget_simple_extent_type(space), what + " has no shape") == H5S_NULL) {
        return std::nullopt;
    }
    hsize_t extent[H5S_MAX_RANK], most[H5S_MAX_RANK];
    const int ndim =
        hdf5_checked(H5Sget_simple_extent_dims(space, extent, most), what + " has no shape");
    Hdf5Shape shape{Coordinates(ndim, 0), {}};
    for (int axis = 0; axis < ndim; ++axis) {
        if (extent[axis] > static_cast<hsize_t>(std::numeric_limits<Index>::max())) {
            throw DamagedFile(
                Problem{what + " has an impossible extent", text(extent[axis]), "", ""});
        }
        shape.extent[axis] = static_cast<Index>(extent[axis]);
        shape.unlimited.push_back(most[axis] == H5S_UNLIMITED);
    }
    return shape;
}

}  // namespace fluvial::store
