// SPDX-License-Identifier: Apache-2.0
/// HDF5's datatypes in Fluvial's terms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/coordinates.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// Integers, IEEE floats, compounds of two equal floats (complex numbers as h5py writes them) and
/// h5py's boolean enumeration, which is int8.
struct Hdf5Element {
    std::optional<DType> dtype;  ///< none: `why` says what it is
    bool swapped = false;
    bool boolean = false;
    std::string why;
};

Hdf5Element element_of(hid_t type);
/// Of elements of `type` (whose dtype is `dtype`) in memory, in native order.
Hdf5Id memory_type(hid_t type, DType dtype);

/// Extents of a dataspace and which of them are unlimited; none for a null dataspace. Throws
/// InvalidArgument for more dimensions than Fluvial has.
struct Hdf5Shape {
    Coordinates extent;
    std::vector<bool> unlimited;
};
std::optional<Hdf5Shape> shape_of(hid_t space, const std::string& what);

}  // namespace fluvial::store
