// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/driver_class.hpp"

#include <functional>

namespace fluvial::store {
namespace {

const DrivenFile& driven(const H5FD_t* file) {
    return *reinterpret_cast<const DrivenFile*>(file);
}

/// No two are the same: a file that was written anew since it was opened last is read anew.
int compare(const H5FD_t* a, const H5FD_t* b) {
    return std::less<>()(a, b) ? -1 : std::less<>()(b, a) ? 1 : 0;
}

haddr_t get_end_of_allocation(const H5FD_t* file, H5FD_mem_t) {
    return driven(file).end_of_allocation;
}

herr_t set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    reinterpret_cast<DrivenFile*>(file)->end_of_allocation = address;
    return 0;
}

}  // namespace

H5FD_class_t driver_class(const char* name, [[maybe_unused]] int number) {
    H5FD_class_t c{};
#if H5_VERSION_GE(1, 14, 0)
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + number);
#endif
    c.name = name;
    c.maxaddr = (haddr_t{1} << 63) - 1;
    c.fc_degree = H5F_CLOSE_WEAK;
    c.cmp = &compare;
    c.get_eoa = &get_end_of_allocation;
    c.set_eoa = &set_end_of_allocation;
    return c;
}

void push_hdf5_reason(const char* function, hid_t minor, const char* reason) {
    H5Epush2(H5E_DEFAULT, __FILE__, function, __LINE__, H5E_ERR_CLS, H5E_IO, minor, "%s", reason);
}

Hdf5Id hdf5_access_by(hid_t& registered, const H5FD_class_t& driver) {
    const Hdf5Session session;
    if (registered < 0 || H5Iis_valid(registered) <= 0) {  // the application may call H5close
        registered = hdf5_checked(H5FDregister(&driver), "HDF5 does not take a file driver");
    }
    Hdf5Id access(hdf5_checked(H5Pcreate(H5P_FILE_ACCESS), "HDF5 has no access properties"));
    hdf5_checked(H5Pset_driver(access, registered, nullptr), "HDF5 does not take a file driver");
    return access;
}

}  // namespace fluvial::store
