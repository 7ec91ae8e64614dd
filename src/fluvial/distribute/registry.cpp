// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/registry.hpp"

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/base/nearest_name.hpp"

namespace fluvial::distribute {

// One line a strategy; a file in strategies/ defines the function.
// clang-format off
#define FLUVIAL_STRATEGIES(add)  \
    add(round_robin)             \
    add(hyperslabs)              \
    add(cuboids)                 \
    add(binpacking)              \
    add(even_binpacking)         \
    add(blocks)                  \
    add(by_host)                 \
    add(by_socket)               \
    add(by_numa)                 \
    add(by_layer)                \
    add(lines)                   \
    add(otherwise)               \
    add(fail)                    \
    add(discard)
// clang-format on

#define FLUVIAL_DECLARE(name) Registration register_##name();
FLUVIAL_STRATEGIES(FLUVIAL_DECLARE)
#undef FLUVIAL_DECLARE

const std::vector<Registration>& registrations() {
#define FLUVIAL_CALL(name) register_##name(),
    static const std::vector<Registration> all = {FLUVIAL_STRATEGIES(FLUVIAL_CALL)};
#undef FLUVIAL_CALL
    return all;
}

StrategyPtr make_strategy(std::string_view text, const OwnStrategies& own, int depth) {
    constexpr int depth_max = 16;
    if (depth > depth_max) {
        throw InvalidArgument(Problem{"strategies inside strategies are too many",
                                      fluvial::text("more than ", depth_max),
                                      fluvial::text("at most ", depth_max), ""});
    }
    Call call = parse_call(text);
    const std::string name = call.name;
    Arguments arguments(std::move(call), own, depth);
    if (const auto found = own.find(name); found != own.end()) {
        arguments.done();
        return found->second;
    }
    std::string names;
    std::vector<std::string> known;
    for (const Registration& entry : registrations()) {
        if (entry.name == name) {
            StrategyPtr made = entry.make(arguments);
            arguments.done();
            return made;
        }
        known.emplace_back(entry.name);
    }
    for (const auto& [mine, strategy] : own) {
        known.push_back(mine);
    }
    for (const std::string& one : known) {
        names += (names.empty() ? "" : ", ") + one;
    }
    const std::string meant = did_you_mean(name, known);
    throw UnknownName(Problem{
        "no strategy of this name", fluvial::text("'", name, "'"), names,
        meant.empty() ? "Give your own by its name beside the text, or correct the name" : meant});
}

StrategyPtr make_strategy(std::string_view text, const OwnStrategies& own) {
    return make_strategy(text, own, 0);
}

}  // namespace fluvial::distribute
