// SPDX-License-Identifier: Apache-2.0
/// Folders of Zarr, versions 2 and 3.
///
/// Datasets are the arrays of numbers and bool, by their path below the root; a root that is an
/// array is called "data". A dataset's attribute _FillValue is what xarray takes for missing: of
/// version 2 the fill value, of version 3 the attribute of this name.
#pragma once

#include <memory>
#include <string>

namespace fluvial::store {

class File;

/// Whether a folder has the marks of either version. Local.
bool is_zarr(const std::string& path);
/// Local; reads metadata only, the consolidated ones where there are. Throws DamagedFile,
/// SystemError.
std::shared_ptr<const File> open_zarr(const std::string& path);

}  // namespace fluvial::store
