// SPDX-License-Identifier: Apache-2.0
/// What has been written between begin and end of one iteration.
#pragma once

#include <map>
#include <string>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/dataset.hpp"

namespace fluvial {

struct StepDescription {
    Attributes attributes;
    std::map<std::string, DatasetDescription> datasets;
};

}  // namespace fluvial
