// SPDX-License-Identifier: Apache-2.0
/// A live step as a file, so that scans compute on what writers have staged: conditions, weights,
/// groups and missing values are then those of files.
#pragma once

#include <memory>
#include <string>

#include "fluvial/stage/reader.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::scan {

/// `name` stands in messages for a path: "step 3 of 'melt'". The file's attributes are those of the
/// step. Dimensions are openPMD's axisLabels, of the dataset, of its group or of the step; a
/// dataset of one axis without them that is called like an axis of another one is its coordinate.
/// Scans copy its elements into their buffers, as those that only a library can decode;
/// `stage::reduce` looks at them in place. Usable until the step ends; then reads throw what
/// StagedDataset::read throws. Local.
std::shared_ptr<const store::File> as_file(const stage::ReadStep& step, std::string name);

}  // namespace fluvial::scan
