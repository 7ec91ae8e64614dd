// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/record_axis.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "fluvial/base/error.hpp"

namespace fluvial::scan {
namespace {

/// Whether a coordinate is time, as the CF conventions say it.
bool is_time(const Attributes& attributes) {
    return text_of(attributes, "axis") == "T" || text_of(attributes, "standard_name") == "time" ||
           text_of(attributes, "units").find(" since ") != std::string::npos;
}

/// The datasets that have the dimension, and how many places they have along it.
std::map<std::string, std::pair<std::shared_ptr<const store::Dataset>, int>> along(
    const store::File& file, const std::string& dimension) {
    std::map<std::string, std::pair<std::shared_ptr<const store::Dataset>, int>> found;
    for (const std::string& name : file.names()) {
        if (!file.unreadable().contains(name)) {
            const auto dataset = file.dataset(name);
            if (const auto axis = axis_along(file, *dataset, dimension)) {
                found[name] = {dataset, *axis};
            }
        }
    }
    return found;
}

/// How many records were written, each after the one before it. A program may make room for
/// records before it writes them.
Index stored_records(const store::Dataset& dataset, int axis) {
    const auto is_stored = [&](Index record) {
        Region region = whole(dataset.shape());
        region.offset[axis] = record;
        region.extent[axis] = 1;
        return dataset.is_stored(region);
    };
    Index low = 0, high = dataset.shape()[axis];  // those below are stored, that at `high` is not
    if (high > 0 && is_stored(high - 1)) {
        return high;
    }
    while (low < high) {
        const Index middle = (low + high) / 2;
        (is_stored(middle) ? low : high) = is_stored(middle) ? middle + 1 : middle;
    }
    return low;
}

}  // namespace

std::optional<std::string> record_dimension(const store::File& file, bool unnamed) {
    std::vector<std::string> unlimited, times;
    for (const store::Dimension& dimension : file.dimensions()) {
        if (dimension.unlimited) {
            unlimited.push_back(dimension.name);
        }
    }
    if (unlimited.size() == 1) {
        return unlimited.front();
    }
    const auto& names = file.names();
    for (const store::Dimension& dimension : file.dimensions()) {
        if ((unlimited.empty() || dimension.unlimited) &&
            std::find(names.begin(), names.end(), dimension.name) != names.end() &&
            !file.unreadable().contains(dimension.name) &&
            is_time(file.dataset(dimension.name)->attributes())) {
            times.push_back(dimension.name);
        }
    }
    if (times.size() > 1 || (unlimited.size() > 1 && times.empty())) {
        throw InvalidArgument(Problem{"'" + file.path() + "' has no steps",
                                      text(std::max(times.size(), unlimited.size()), " dimensions"),
                                      "one dimension of time, or one that is unlimited",
                                      "Use its datasets whole: Variable::open"});
    }
    if (!times.empty()) {
        return times.front();
    }
    return unnamed && !along(file, unnamed_records).empty() ? std::optional<std::string>("")
                                                            : std::nullopt;
}

std::string path_of(const store::File& file, const store::Dataset& dataset,
                    const std::string& own) {
    const auto& all = file.dimensions();
    std::string group = dataset.name();
    do {
        const auto slash = group.rfind('/');
        group = slash == std::string::npos ? "" : group.substr(0, slash);
        const std::string path = group.empty() ? own : group + "/" + own;
        if (std::any_of(all.begin(), all.end(),
                        [&](const auto& one) { return one.name == path; })) {
            return path;
        }
    } while (!group.empty());
    return own;
}

std::optional<int> axis_along(const store::File& file, const store::Dataset& dataset,
                              const std::string& dimension) {
    const auto& names = dataset.dimensions();
    if (dimension == unnamed_records) {
        const std::vector<bool> unlimited = dataset.unlimited();
        const bool named = !names.empty() && !names.front().empty();
        return !unlimited.empty() && unlimited.front() && !named ? std::optional(0) : std::nullopt;
    }
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& own) {
        return path_of(file, dataset, own) == dimension;
    });
    return found == names.end() ? std::nullopt
                                : std::optional(static_cast<int>(found - names.begin()));
}

Index records_along(const store::File& file, const std::string& dimension) {
    if (!file.grows() && dimension != unnamed_records) {
        const auto& all = file.dimensions();
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const auto& one) { return one.name == dimension; });
        if (found == all.end()) {
            throw InvalidArgument(Problem{"'" + file.path() + "' has no dimension of the steps",
                                          "other dimensions", "'" + dimension + "'",
                                          "Open files that have the same dimensions together"});
        }
        return found->length;
    }
    if (file.grows()) {
        return stored_along(file, dimension);
    }
    std::optional<std::pair<Index, std::string>> least, most;
    for (const auto& [name, place] : along(file, dimension)) {
        const Index records = place.first->shape()[place.second];
        least = std::min(least.value_or(std::pair(records, name)), std::pair(records, name));
        most = std::max(most.value_or(std::pair(records, name)), std::pair(records, name));
    }
    if (least && least->first != most->first) {
        throw DamagedFile(
            Problem{"'" + file.path() + "' has not as many records of one dataset as of another",
                    text(least->first, " of '", least->second, "' and ", most->first, " of '",
                         most->second, "'"),
                    "as many", "Use its datasets whole: Variable::open"});
    }
    return least ? least->first : 0;
}

Index stored_along(const store::File& file, const std::string& dimension) {
    std::optional<Index> least;
    for (const auto& [name, place] : along(file, dimension)) {
        const Index records = stored_records(*place.first, place.second);
        least = std::min(least.value_or(records), records);
    }
    return least.value_or(0);
}

Index places_along(const store::File& file, const std::string& dimension) {
    Index most = 0;
    for (const auto& [name, place] : along(file, dimension)) {
        most = std::max(most, place.first->shape()[place.second]);
    }
    return most;
}

}  // namespace fluvial::scan
