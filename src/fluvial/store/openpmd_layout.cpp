// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/openpmd_layout.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <set>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dataset.hpp"
#include "fluvial/describe/group_attributes.hpp"

namespace fluvial::store {
namespace {

using Words = std::vector<std::string>;
using Numbers = std::vector<double>;

/// Attributes that all components of a record share, and that hang on the record.
constexpr std::array<std::string_view, 9> of_record = {
    "unitDimension", "timeOffset",  "geometry",         "geometryParameters", "dataOrder",
    "axisLabels",    "gridSpacing", "gridGlobalOffset", "gridUnitSI"};
/// Vectors of float64, and numbers of float64, whatever they were given as.
constexpr std::array<std::string_view, 4> vectors = {"unitDimension", "gridSpacing",
                                                     "gridGlobalOffset", "position"};
constexpr std::array<std::string_view, 6> numbers = {"timeOffset", "gridUnitSI", "unitSI",
                                                     "time",       "dt",         "timeUnitSI"};

/// Further attributes that have one value, of openPMD and of the CF conventions.
constexpr std::array<std::string_view, 41> single = {"openPMD",
                                                     "openPMDextension",
                                                     "basePath",
                                                     "meshesPath",
                                                     "particlesPath",
                                                     "author",
                                                     "software",
                                                     "softwareVersion",
                                                     "date",
                                                     "comment",
                                                     "machine",
                                                     "iterationEncoding",
                                                     "iterationFormat",
                                                     "closed",
                                                     "snapshot",
                                                     "geometry",
                                                     "geometryParameters",
                                                     "dataOrder",
                                                     "fieldSmoothing",
                                                     "value",
                                                     "particleShape",
                                                     "macroWeighted",
                                                     "weightingPower",
                                                     "softwareDependencies",
                                                     "units",
                                                     "long_name",
                                                     "standard_name",
                                                     "calendar",
                                                     "description",
                                                     "title",
                                                     "history",
                                                     "axis",
                                                     "positive",
                                                     "cell_methods",
                                                     "scale_factor",
                                                     "add_offset",
                                                     "_FillValue",
                                                     "missing_value",
                                                     "valid_min",
                                                     "valid_max",
                                                     "_Unsigned"};

template <class Names>
bool among(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

Words parts_of(const std::string& name) {
    Words parts(1);
    for (const char letter : name) {
        if (letter == '/') {
            parts.emplace_back();
        } else {
            parts.back() += letter;
        }
    }
    return parts;
}

std::string joined(const Words& parts, std::size_t count) {
    std::string path;
    for (std::size_t i = 0; i < std::min(count, parts.size()); ++i) {
        path += (i == 0 ? "" : "/") + parts[i];
    }
    return path;
}

std::string without_slashes(const std::string& path) {
    const auto first = path.find_first_not_of('/');
    return first == std::string::npos ? ""
                                      : path.substr(first, path.find_last_not_of('/') - first + 1);
}

/// Attributes as openPMD wants their types: units and grids in float64.
Attributes typed(Attributes attributes) {
    for (auto& [name, value] : attributes) {
        const auto converted = floats_of(value);
        if (converted && among(vectors, name)) {
            value = *converted;
        } else if (converted && converted->size() == 1 && among(numbers, name)) {
            value = converted->front();
        } else if (const auto* word = std::get_if<std::string>(&value);
                   word != nullptr && name == "axisLabels") {
            value = Words{*word};
        }
    }
    return attributes;
}

void check_name(const std::string& name, const std::set<std::string>& names) {
    check_dataset_name(name);
    const Words parts = parts_of(name);
    for (std::size_t end = 1; end < parts.size(); ++end) {
        const std::string above = joined(parts, end);
        if (names.contains(above)) {
            throw InvalidArgument(Problem{
                "a name is that of a dataset and of a group", "'" + name + "'",
                "none below the dataset '" + above + "'", "Call one of them something else"});
        }
    }
}

/// The path of the record of a component; `path` is that of all meshes or particles.
std::string record_of(const std::string& name, const std::string& path, bool mesh) {
    const Words parts = parts_of(name.substr(path.size()));
    const bool patches = !mesh && parts.size() > 1 && parts[1] == "particlePatches";
    return path + joined(parts, mesh ? 1 : patches ? 3 : 2);
}

Attributes record_defaults(const Coordinates& shape) {
    const auto ndim = static_cast<std::size_t>(std::max(shape.size(), 1));
    const Words letters = {"x", "y", "z"};
    Words labels;
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        labels.push_back(ndim <= 3 ? letters[ndim - 1 - axis] : text("dim_", axis));
    }
    return {{"geometry", std::string("cartesian")},
            {"dataOrder", std::string("C")},
            {"gridUnitSI", 1.0},
            {"gridSpacing", Numbers(ndim, 1.0)},
            {"gridGlobalOffset", Numbers(ndim, 0.0)},
            {"axisLabels", labels}};
}

void merge(Attributes& known, const Attributes& said, const std::string& record) {
    for (const auto& [name, value] : said) {
        if (const auto [at, fresh] = known.emplace(name, value);
            !fresh && !say_the_same(at->second, value)) {
            throw InvalidArgument(Problem{"components of '" + record + "' differ in " + name,
                                          "another value than that of the first one",
                                          "the same for all: it belongs to the record",
                                          "Give it with one component, or with all alike"});
        }
    }
}

/// One step on its way into a layout.
class Arrangement {
  public:
    Arrangement(const StepContents& step, const Attributes& series)
        : meshes_(text_of(series, "meshesPath")),
          particles_(text_of(series, "particlesPath")),
          said_(groups_of(step.attributes)) {
        Attributes of_step = {{"time", 0.0}, {"dt", 1.0}, {"timeUnitSI", 1.0}};
        for (const auto& [name, value] : own_attributes(step.attributes)) {
            of_step[name] = value;
        }
        layout.groups[""] = typed(of_step);
        for (const DatasetDescription& dataset : step.datasets) {
            names_.insert(dataset.name);
        }
    }

    void add(DatasetDescription dataset) {
        check_name(dataset.name, names_);
        for (const auto& [key, value] : said_of(dataset.name)) {  // a record of one component
            if (key != "value" && key != "shape") {
                dataset.attributes.emplace(key, value);
            }
        }
        const bool mesh = dataset.name.starts_with(meshes_);
        if (mesh || dataset.name.starts_with(particles_)) {
            const std::string& path = mesh ? meshes_ : particles_;
            add_to_record(dataset, record_of(dataset.name, path, mesh), mesh);
        }
        dataset.attributes = typed(dataset.attributes);
        layout.datasets.push_back(std::move(dataset));
    }

    /// Particles of openPMD have a positionOffset, which is mostly zero and then takes no room.
    void add_position_offsets() {
        for (const DatasetDescription& dataset : layout.datasets) {
            if (!dataset.name.starts_with(particles_)) {
                continue;
            }
            const Words parts = parts_of(dataset.name.substr(particles_.size()));
            if (parts.size() != 3 || parts[1] != "position") {
                continue;
            }
            const std::string offset = particles_ + parts[0] + "/positionOffset";
            const auto below = names_.lower_bound(offset + "/");
            if (below != names_.end() && below->starts_with(offset + "/")) {
                continue;
            }
            layout.groups.emplace(offset, layout.groups.at(particles_ + parts[0] + "/position"));
            DatasetDescription zero;
            zero.name = offset + "/" + parts[2];
            zero.dtype = DType::Float64;
            zero.shape = dataset.shape;
            zero.attributes = {{"unitSI", dataset.attributes.at("unitSI")}, {"value", 0.0}};
            layout.constants.push_back(std::move(zero));
        }
    }

    /// openPMD's validator looks for the groups that the root names.
    void add_top_groups() {
        for (const std::string& path : {without_slashes(meshes_), without_slashes(particles_)}) {
            if (!path.empty() && !names_.contains(path)) {
                layout.groups.emplace(path, typed(said_of(path)));
            }
        }
    }

    /// What was said of groups that no record has made.
    void add_other_groups() {
        for (const auto& [path, attributes] : said_) {
            if (!names_.contains(path)) {
                layout.groups.emplace(path, typed(attributes));
            }
        }
    }

    OpenPmdLayout layout;

  private:
    void add_to_record(DatasetDescription& dataset, const std::string& record, bool mesh) {
        const bool patches = record.find("particlePatches") != std::string::npos;
        Attributes& own = dataset.attributes;
        const Attributes said = record == dataset.name ? Attributes() : said_of(record);
        std::erase_if(own, [&](const auto& one) {
            const auto found = said.find(one.first);
            return found != said.end() && found->second == one.second &&
                   !among(of_record, one.first);
        });
        if (!patches || record != dataset.name) {
            own.emplace("unitSI", 1.0);
        }
        Attributes defaults = mesh ? record_defaults(dataset.shape) : Attributes();
        defaults["unitDimension"] = Numbers(7, 0.0);
        if (!patches) {
            defaults["timeOffset"] = 0.0;
        }
        Attributes shared = said;
        for (const std::string_view name : of_record) {
            if (auto given = own.extract(std::string(name)); !given.empty()) {
                shared[given.key()] = std::move(given.mapped());
            }
        }
        if (mesh) {
            own.emplace("position",
                        Numbers(static_cast<std::size_t>(std::max(dataset.shape.size(), 1)), 0.0));
        }
        if (record == dataset.name) {
            own.merge(shared);
            own.merge(defaults);
        } else {  // any of the components may say it
            merge(given_[record], typed(shared), record);
            Attributes all = given_[record];
            all.merge(typed(defaults));
            layout.groups[record] = std::move(all);
        }
    }

    Attributes said_of(const std::string& group) const {
        const auto found = said_.find(group);
        return found == said_.end() ? Attributes() : found->second;
    }

    std::string meshes_, particles_;
    GroupAttributes said_;
    GroupAttributes given_;  ///< of records, by their components and by the step
    std::set<std::string> names_;
};

}  // namespace

bool openpmd_has_one(std::string_view attribute) {
    return among(numbers, attribute) || among(single, attribute);
}

Attributes openpmd_series_attributes(const Attributes& said,
                                     const std::optional<std::string>& pattern) {
    const std::time_t now = std::time(nullptr);
    std::tm parts = {};
    gmtime_r(&now, &parts);
    std::array<char, 32> date{};
    std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S +0000", &parts);
    const Attributes fixed = {
        {"basePath", std::string("/data/%T/")},
        {"iterationEncoding", std::string(pattern ? "fileBased" : "groupBased")},
        {"iterationFormat", pattern ? *pattern : std::string("/data/%T/")}};
    Attributes attributes = said;
    const Attributes needed = {
        {"openPMD", std::string("1.1.0")},      {"openPMDextension", std::int64_t{0}},
        {"meshesPath", std::string("meshes/")}, {"particlesPath", std::string("particles/")},
        {"software", std::string("Fluvial")},   {"softwareVersion", std::string(FLUVIAL_VERSION)},
        {"date", std::string(date.data())}};
    attributes.insert(needed.begin(), needed.end());
    for (const auto& [name, value] : fixed) {
        attributes[name] = value;
    }
    for (const char* path : {"meshesPath", "particlesPath"}) {
        attributes[path] = without_slashes(text_of(attributes, path)) + "/";
    }
    return attributes;
}

OpenPmdLayout openpmd_layout(const StepContents& step, const Attributes& series) {
    Arrangement arrangement(step, series);
    for (const DatasetDescription& dataset : step.datasets) {
        arrangement.add(dataset);
    }
    arrangement.add_top_groups();
    arrangement.add_other_groups();
    arrangement.add_position_offsets();
    return std::move(arrangement.layout);
}

}  // namespace fluvial::store
