// SPDX-License-Identifier: Apache-2.0
/// Strategies by name. One line in registry.cpp adds one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fluvial/distribute/arguments.hpp"
#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

/// What a strategy tells the registry about itself.
struct Registration {
    std::string_view name;
    std::string_view summary;  ///< one line
    StrategyPtr (*make)(Arguments&);
    std::vector<std::string_view> examples;  ///< texts that the conformance test uses
    bool complete = true;                    ///< each element of any request gets a reader
    int ndim_min = 0;                        ///< of the chunks
};

const std::vector<Registration>& registrations();

/// "hyperslabs", "hyperslabs(axis=1)", "by-host(binpacking, fallback=hyperslabs)": a name, and in
/// parentheses arguments by name or in order; strategies are arguments of others. Names in `own`
/// stand for the user's strategies, also inside of others. Throws UnknownName for a name that is
/// neither (listing what exists) and for an unknown argument, InvalidArgument for a wrong one.
StrategyPtr make_strategy(std::string_view text, const OwnStrategies& own = {});

/// The same inside of `depth` others.
StrategyPtr make_strategy(std::string_view text, const OwnStrategies& own, int depth);

}  // namespace fluvial::distribute
