// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/registry.hpp"

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::route {

// One line a kind; a file in topologies/ defines the function.
// clang-format off
#define FLUVIAL_TOPOLOGIES(add)  \
    add(torus)                   \
    add(mesh)                    \
    add(bgq)                     \
    add(fat_tree)                \
    add(dragonfly)
// clang-format on

#define FLUVIAL_DECLARE(name) Registration register_##name();
FLUVIAL_TOPOLOGIES(FLUVIAL_DECLARE)
#undef FLUVIAL_DECLARE

const std::vector<Registration>& registrations() {
#define FLUVIAL_CALL(name) register_##name(),
    static const std::vector<Registration> all = {FLUVIAL_TOPOLOGIES(FLUVIAL_CALL)};
#undef FLUVIAL_CALL
    return all;
}

TopologyPtr make_topology(std::string_view given) {
    TopologyText words(given);
    std::string names;
    std::vector<std::string> known;
    for (const Registration& entry : registrations()) {
        if (entry.name == words.kind()) {
            return entry.make(words);
        }
        known.emplace_back(entry.name);
        names += (names.empty() ? "" : ", ") + known.back();
    }
    throw UnknownName(Problem{"no topology of this kind", "'" + shortened(words.kind()) + "'",
                              names + ", or the path of a file",
                              did_you_mean(words.kind(), known)});
}

}  // namespace fluvial::route
