// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/place.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"

namespace fluvial::distribute {

Place::Place(std::vector<Level> levels) : levels_(std::move(levels)) {
    for (auto level = levels_.begin(); level != levels_.end(); ++level) {
        if (level->layer.empty() || level->name.empty()) {
            throw InvalidArgument(Problem{"a level of a place has no name",
                                          text("'", level->layer, "=", level->name, "'"),
                                          "a layer and its name, such as host=node17", ""});
        }
        const auto same = [&](const Level& other) { return other.layer == level->layer; };
        if (std::any_of(levels_.begin(), level, same)) {
            throw InvalidArgument(Problem{"a place names a layer twice", text_of(*this),
                                          "each layer once, from the outermost inward", ""});
        }
    }
}

std::optional<std::string> Place::down_to(std::string_view layer) const {
    std::string path;
    for (const Level& level : levels_) {
        path += (path.empty() ? "" : "/") + level.layer + "=" + level.name;
        if (level.layer == layer) {
            return path;
        }
    }
    return std::nullopt;
}

Place anywhere() {
    return Place(std::vector<Level>{{.layer = "anywhere", .name = "file"}});
}

bool is_anywhere(const Place& place) {
    return place.levels().size() == 1 && place.levels().front().layer == "anywhere";
}

std::string text_of(const Place& place) {
    return place.levels().empty() ? "unknown" : *place.down_to(place.levels().back().layer);
}

}  // namespace fluvial::distribute
