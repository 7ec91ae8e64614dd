// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include "fluvial/base/error.hpp"

namespace fluvial::adios2_engine {

Parameters parameters_from(const adios2::Params& said) {
    Parameters parameters;
    std::string plugin;
    for (const auto& [name, value] : said) {
        if (name == "Series") {
            parameters.series = value;
        } else if (name == "PluginName") {
            plugin = value;
        } else if (name == "Communicator") {
            parameters.world = value == "world";
            if (!parameters.world && value != "self") {
                throw InvalidArgument(Problem{"the parameter Communicator makes no sense",
                                              "'" + value + "'", "self, world", ""});
            }
        } else if (name != "PluginLibrary" && name != "verbose") {  // which are ADIOS2's own
            parameters.options.emplace(name, value);
        }
    }
    if (parameters.series.empty()) {
        parameters.series = plugin;
    }
    return parameters;
}

}  // namespace fluvial::adios2_engine
