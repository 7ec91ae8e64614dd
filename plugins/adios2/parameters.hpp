// SPDX-License-Identifier: Apache-2.0
/// What the parameters of the engine say.
#pragma once

#include <string>

#include <adios2/common/ADIOSTypes.h>

#include "fluvial/stage/named_options.hpp"

namespace fluvial::adios2_engine {

struct Parameters {
    std::string series;           ///< its name: `Series`, or else `PluginName`
    bool world = false;           ///< `Communicator` is "world", not "self"
    stage::NamedOptions options;  ///< all others: those of a series, of either end
};

/// Throws InvalidArgument where `Communicator` is something else.
Parameters parameters_from(const adios2::Params& said);

}  // namespace fluvial::adios2_engine
