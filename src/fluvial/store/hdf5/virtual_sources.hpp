// SPDX-License-Identifier: Apache-2.0
/// The datasets that a virtual dataset of HDF5 is made of. libhdf5 takes what it cannot open for
/// what is not there, and gives fill values for it: damage would look like data.
#pragma once

#include <set>
#include <string>

#include "fluvial/describe/region.hpp"
#include "fluvial/store/hdf5/session.hpp"

namespace fluvial::store {

/// Attribute of a virtual dataset of which no part may be missing: the files of hosts that one
/// series was written into. Users do not see it.
inline constexpr const char* parts_required = "_FluvialPartsRequired";

/// Opens all that `region` of the virtual dataset is made of, where libhdf5 looks for it, but for
/// those in `sound`, to which it adds them. Files and datasets that do not exist are passed over,
/// as the format has it, unless the dataset says that all parts are required. Throws DamagedFile
/// for these, and for any other that cannot be opened, or whose index of chunks is damaged. The
/// caller holds a session.
void check_virtual_sources(hid_t dataset, const Region& region, const std::string& what,
                           std::set<std::string>& sound);

}  // namespace fluvial::store
