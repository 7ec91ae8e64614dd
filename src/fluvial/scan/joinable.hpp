// SPDX-License-Identifier: Apache-2.0
/// Whether a file that has appeared joins the one before it, of which steps were given already.
#pragma once

#include <memory>
#include <string>

#include "fluvial/store/file.hpp"

namespace fluvial::scan {

/// The dimension of the steps of a file that others are to join; maybe unnamed_records. Local.
/// Throws InvalidArgument where files like this one are not joined.
std::string steps_dimension(const store::File& file);

/// Local; reads the coordinates of both. Throws InvalidArgument, which names the file, where `next`
/// has other datasets, axes, lengths or dtypes than `before`, packs them otherwise, or where its
/// coordinates do not fit.
void check_joins(const std::shared_ptr<const store::File>& before,
                 const std::shared_ptr<const store::File>& next, const std::string& dimension);

}  // namespace fluvial::scan
