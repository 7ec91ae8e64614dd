// SPDX-License-Identifier: Apache-2.0
/// What there is in a file of HDF5: a walk through its groups.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fluvial/store/hdf5/element.hpp"
#include "fluvial/store/hdf5/scales.hpp"

namespace fluvial::store {

/// A dataset, or a group that openPMD calls a constant record component.
struct Hdf5Entry {
    std::string name;  ///< for users
    std::string path;  ///< for HDF5
    bool constant = false;
    haddr_t address = 0;  ///< of the object, as references have it
    Hdf5Element element;  ///< no dtype: cannot be used
    Hdf5Shape shape;
    std::optional<Scale> scale;
    bool damaged = false;  ///< `element.why` says how

    bool usable() const { return element.dtype.has_value(); }
};

struct Hdf5Contents {
    std::vector<Hdf5Entry> entries;
    std::vector<std::string> groups;  ///< paths for HDF5, but for the root and constant components
};

/// Every dataset, groups in the order in which they were made if the file knows that, else by name.
/// A group is entered once, under the first of its names; soft links lead to datasets of this file,
/// other soft links and links to other files are left out. With `openpmd`, constant record
/// components too. Throws DamagedFile; a dataset that cannot be opened is an entry that says so.
Hdf5Contents walk_contents(hid_t file, bool openpmd, const std::string& path);

/// One object, by any path that leads to it within the file; none when it is no dataset (nor
/// constant component).
std::optional<Hdf5Entry> entry_at(hid_t file, const std::string& path, bool openpmd);

/// H5Oopen that never follows a link to another file.
hid_t open_inside(hid_t where, const std::string& path);

}  // namespace fluvial::store
