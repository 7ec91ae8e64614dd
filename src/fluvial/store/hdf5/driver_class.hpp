// SPDX-License-Identifier: Apache-2.0
/// What our drivers of files for libhdf5 have in common.
#pragma once

#include "fluvial/store/hdf5/session.hpp"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace fluvial::store {

/// An open file begins so; HDF5 sees the first member.
struct DrivenFile {
    H5FD_t seen_by_hdf5;
    haddr_t end_of_allocation;
};

/// A driver that opens, queries, reads and writes nothing yet. `number`: its own, below 256.
H5FD_class_t driver_class(const char* name, int number);

/// Puts a reason where last_hdf5_error() finds it.
void push_hdf5_reason(const char* function, hid_t minor, const char* reason);

/// An access property list with a driver, which is registered once: `registered` keeps its number.
Hdf5Id hdf5_access_by(hid_t& registered, const H5FD_class_t& driver);

}  // namespace fluvial::store
