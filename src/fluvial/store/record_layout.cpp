// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/record_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/describe/axis_labels.hpp"
#include "fluvial/describe/group_attributes.hpp"

namespace fluvial::store {
namespace {

using Numbers = std::vector<double>;

constexpr std::array<std::string_view, 7> of_openpmd = {
    "openPMD",       "openPMDextension",  "basePath",       "meshesPath",
    "particlesPath", "iterationEncoding", "iterationFormat"};

std::string names_of(const std::vector<RecordVariable>& variables) {
    std::vector<std::string> names;
    for (const RecordVariable& variable : variables) {
        names.push_back(variable.name);
    }
    return listed(names);
}

template <class T>
std::vector<std::byte> bytes_of_numbers(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// As many finite numbers as asked for; none of texts, or of another count.
std::optional<Numbers> numbers_of(const Attributes& attributes, const char* name,
                                  std::size_t count) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        return std::nullopt;
    }
    const Numbers values = floats_of(found->second).value_or(Numbers());
    const bool finite = std::all_of(values.begin(), values.end(),
                                    [](double value) { return std::isfinite(value); });
    return values.size() == count && finite ? std::optional(values) : std::nullopt;
}

std::vector<std::string> labels_of(const DatasetDescription& dataset) {
    std::vector<std::string> labels = axis_labels(dataset);
    if (labels.empty()) {
        // With its path: datasets of one name in several groups have lengths of their own.
        std::string path = dataset.name;
        std::replace(path.begin(), path.end(), '/', '_');
        for (int axis = 0; axis < dataset.shape.size(); ++axis) {
            labels.push_back(text(path, "_dim_", axis));
        }
    }
    if (std::find(labels.begin(), labels.end(), record_axis) != labels.end()) {
        throw InvalidArgument(Problem{
            "'" + dataset.name + "' has an axis that is called 'time'", "an axis of that name",
            "other names: time is the axis of the steps", "Put one record, or call it otherwise"});
    }
    return labels;
}

void add_dimension(RecordLayout& layout, const std::string& label, Index length,
                   const std::string& dataset) {
    const auto known = std::find_if(layout.dimensions.begin(), layout.dimensions.end(),
                                    [&](const auto& one) { return one.first == label; });
    if (known == layout.dimensions.end()) {
        layout.dimensions.emplace_back(label, length);
    } else if (known->second != length) {
        throw InvalidArgument(Problem{"the axis '" + label + "' has two lengths",
                                      text(length, " in '", dataset, "'"),
                                      text(known->second, ", as in the dataset before it"),
                                      "Call one of the axes something else"});
    }
}

/// The coordinates of a regular grid, gridGlobalOffset + (index + position) · gridSpacing.
void add_grid(RecordLayout& layout, const DatasetDescription& dataset,
              const std::vector<std::string>& labels, const std::set<std::string>& names) {
    const auto ndim = labels.size();
    const auto spacing = numbers_of(dataset.attributes, "gridSpacing", ndim);
    if (!spacing) {
        return;
    }
    const auto offset = numbers_of(dataset.attributes, "gridGlobalOffset", ndim);
    const auto position = numbers_of(dataset.attributes, "position", ndim);
    const auto unit = numbers_of(dataset.attributes, "gridUnitSI", 1);
    const auto order = dataset.attributes.find("dataOrder");
    const bool fortran =
        order != dataset.attributes.end() && order->second == Attribute(std::string("F"));
    for (std::size_t axis = 0; axis < ndim; ++axis) {
        if (names.contains(labels[axis]) || layout.find(labels[axis]) != nullptr) {
            continue;
        }
        const std::size_t stated = fortran ? ndim - 1 - axis : axis;
        Numbers values(static_cast<std::size_t>(dataset.shape[static_cast<int>(axis)]));
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double within = position ? (*position)[stated] : 0;
            values[i] = (offset ? (*offset)[stated] : 0) +
                        (static_cast<double>(i) + within) * (*spacing)[stated];
        }
        RecordVariable variable;
        variable.name = labels[axis];
        variable.dimensions = {labels[axis]};
        variable.shape = {static_cast<Index>(values.size())};
        variable.by_record = false;
        variable.values = bytes_of_numbers(values);
        if (unit) {
            variable.attributes.emplace("unitSI", unit->front());
        }
        layout.variables.push_back(std::move(variable));
    }
}

/// An attribute of the step as a variable of one number a step.
RecordVariable number_of_step(const std::string& name, const Attribute& value,
                              std::uint64_t number) {
    RecordVariable variable;
    variable.name = name;
    if (name != record_axis) {
        variable.attributes.emplace(step_attribute, std::int64_t{1});
    }
    if (const auto* real = std::get_if<double>(&value)) {
        variable.values = bytes_of_numbers(Numbers{*real});
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        variable.dtype = DType::Int64;
        variable.values = bytes_of_numbers(std::vector<std::int64_t>{*whole});
    } else if (const auto* large = std::get_if<Unsigned>(&value)) {
        variable.dtype = DType::UInt64;
        variable.values =
            bytes_of_numbers(std::vector<std::uint64_t>{static_cast<std::uint64_t>(*large)});
    } else if (const auto* yes = std::get_if<bool>(&value)) {
        variable.dtype = DType::Int8;
        variable.values = std::vector<std::byte>{std::byte{*yes}};
    } else {
        throw InvalidArgument(Problem{
            text("attribute '", name, "' of step ", number, " is no number"), "text, or several",
            "an integer, a double or a bool: a record has numbers alone",
            "Set it for the whole series"});
    }
    return variable;
}

/// How the time of a step counts, as a coordinate says it: by the attributes timeUnits and
/// timeCalendar of the step, which are taken out.
Attributes take_units(Attributes& of_step) {
    Attributes found;
    if (const auto units = of_step.extract("timeUnits"); !units.empty()) {
        found["units"] = units.mapped();
        of_step.erase("timeUnitSI");  // the units say it
        if (const auto calendar = of_step.extract("timeCalendar"); !calendar.empty()) {
            found["calendar"] = calendar.mapped();
        }
    }
    return found;
}

std::string described(const RecordVariable& variable) {
    std::string along;
    for (const std::string& label : variable.dimensions) {
        along += (along.empty() ? "" : ", ") + label;
    }
    return text(name_of(variable.dtype), " ", variable.shape, " along (", along, ")");
}

}  // namespace

const RecordVariable* RecordLayout::find(const std::string& name) const {
    const auto found = std::find_if(variables.begin(), variables.end(),
                                    [&](const auto& one) { return one.name == name; });
    return found == variables.end() ? nullptr : &*found;
}

RecordLayout record_layout(const StepContents& step) {
    RecordLayout layout;
    std::set<std::string> names;
    std::vector<std::vector<std::string>> labels;
    for (const DatasetDescription& dataset : step.datasets) {
        names.insert(dataset.name);
        labels.push_back(labels_of(dataset));
        for (int axis = 0; axis < dataset.shape.size(); ++axis) {
            add_dimension(layout, labels.back()[static_cast<std::size_t>(axis)],
                          dataset.shape[axis], dataset.name);
        }
    }
    for (std::size_t i = 0; i < step.datasets.size(); ++i) {
        add_grid(layout, step.datasets[i], labels[i], names);
    }
    for (std::size_t i = 0; i < step.datasets.size(); ++i) {
        const DatasetDescription& dataset = step.datasets[i];
        RecordVariable variable;
        variable.name = dataset.name;
        variable.dtype = dataset.dtype;
        variable.dimensions = labels[i];
        variable.shape = dataset.shape;
        variable.attributes = dataset.attributes;
        variable.attributes.erase("axisLabels");
        variable.by_record = labels[i] != std::vector<std::string>{dataset.name};
        layout.variables.push_back(std::move(variable));
    }
    Attributes of_step = own_attributes(step.attributes);
    const Attributes units = take_units(of_step);
    for (const auto& [name, value] : of_step) {
        if (layout.find(name) != nullptr) {
            throw InvalidArgument(Problem{"a dataset is called like an attribute of the step",
                                          "'" + name + "'", "another name for one of them", ""});
        }
        layout.variables.push_back(number_of_step(name, value, step.number));
        if (name == record_axis) {
            layout.variables.back().attributes = units;
        }
    }
    return layout;
}

Attributes record_series_attributes(const Attributes& said) {
    Attributes kept = {{"software", std::string("Fluvial")}};
    for (const auto& [name, value] : said) {
        if (std::find(of_openpmd.begin(), of_openpmd.end(), name) == of_openpmd.end()) {
            kept.insert_or_assign(name, value);
        }
    }
    return kept;
}

void check_alike(const RecordLayout& first, const RecordLayout& step, std::uint64_t number) {
    const auto refuse = [&](const std::string& name, const char* what) {
        throw InvalidArgument(
            Problem{text("'", name, "' ", what, " step ", number), names_of(step.variables),
                    names_of(first.variables) + ", as in the first step, because records are alike",
                    "Put the same in each step, or write files of one step each, 'data%T.nc'"});
    };
    for (const RecordVariable& known : first.variables) {
        if (known.by_record && step.find(known.name) == nullptr) {
            refuse(known.name, "is missing in");
        }
    }
    for (const RecordVariable& variable : step.variables) {
        const RecordVariable* known = first.find(variable.name);
        if (known == nullptr) {
            refuse(variable.name, "is new in");
        }
        const std::string what = text("'", variable.name, "' changes in step ", number);
        if (described(variable) != described(*known) || variable.by_record != known->by_record) {
            throw InvalidArgument(Problem{
                what, described(variable),
                described(*known) + ", as in the first step, because records are alike", ""});
        }
        if (!say_the_same(variable.attributes, known->attributes)) {
            throw InvalidArgument(Problem{"attributes of " + what, "others",
                                          "what they were in the first step: a file has them once",
                                          ""});
        }
        if (!known->by_record && variable.values && variable.values != known->values) {
            throw InvalidArgument(
                Problem{"the coordinate " + what, "others",
                        "what it was in the first step: a file has coordinates once", ""});
        }
    }
}

}  // namespace fluvial::store
