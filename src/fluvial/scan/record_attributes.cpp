// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/record_attributes.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "fluvial/scan/coordinate_values.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/time_units.hpp"
#include "fluvial/store/record_layout.hpp"

namespace fluvial::scan {
namespace {

bool is_readable(const store::File& file, const std::string& name) {
    const auto& names = file.names();
    return std::find(names.begin(), names.end(), name) != names.end() &&
           !file.unreadable().contains(name);
}

/// A file, and a record of it by its own number.
struct Place {
    const store::File* file = nullptr;
    Index at = 0;
};

/// Where a record of all files together lies; null behind the last.
Place place_of(const JoinedFiles& files, const SeriesStep::Record& record) {
    Index at = record.at;
    for (const JoinedFiles::FilePtr& file : files.files()) {
        for (const store::Dimension& dimension : file->dimensions()) {
            if (dimension.name != record.dimension) {
                continue;
            }
            if (at < dimension.length) {
                return {file.get(), at};
            }
            at -= dimension.length;
        }
    }
    return {};
}

/// The times of all records as the first file counts them; null where the dimension has no
/// coordinate of numbers, and where one file counts so that it cannot be told as the first does.
const std::vector<double>* times_of(const JoinedFiles& files, const std::string& dimension) {
    if (!is_readable(files.first(), dimension)) {
        return nullptr;
    }
    const JoinedFiles::Parts& parts = files.parts_of(dimension);
    const store::Dataset& first = *parts.front();
    if (first.shape().size() != 1 || is_complex(first.dtype()) || !differing_units(parts).empty()) {
        return nullptr;
    }
    return &files.values_of(dimension);
}

/// As a coordinate says how it counts, and as openPMD does.
void add_units(Attributes& said, const Attributes& of_coordinate) {
    const std::string units = text_of(of_coordinate, "units");
    if (units.empty()) {
        return;
    }
    said["timeUnits"] = units;
    if (const std::string calendar = text_of(of_coordinate, "calendar"); !calendar.empty()) {
        said["timeCalendar"] = calendar;
    }
    if (const auto seconds = seconds_of_unit(units)) {
        said["timeUnitSI"] = *seconds;
    }
}

/// Nothing of complex numbers, which attributes are not.
std::optional<Attribute> attribute_of_one(const compute::Array& number) {
    return dispatch(number.dtype, [&]<class T>() -> std::optional<Attribute> {
        if constexpr (std::is_unsigned_v<T>) {
            return attribute_of(std::uint64_t{*number.as<T>()});
        } else if constexpr (std::is_integral_v<T>) {
            return std::int64_t{*number.as<T>()};
        } else if constexpr (is_complex(dtype_of<T>())) {
            return std::nullopt;
        } else {
            return static_cast<double>(*number.as<T>());
        }
    });
}

/// The numbers that the writer of this file was told of its steps: other files that are joined with
/// it may have others, or of other types.
void add_numbers(Attributes& said, const Place& place) {
    for (const std::string& name : place.file->names()) {
        if (!is_readable(*place.file, name)) {
            continue;
        }
        const DatasetPtr dataset = place.file->dataset(name);
        if (!dataset->attributes().contains(store::step_attribute) ||
            dataset->shape().size() != 1 || place.at >= dataset->shape()[0]) {
            continue;
        }
        compute::Array number(dataset->dtype(), {1});
        const auto width = static_cast<Index>(size_of(number.dtype));
        dataset->read({{place.at}, {1}}, {number.bytes.data(), number.dtype, {1}, {width}});
        if (auto value = attribute_of_one(number)) {
            said.insert_or_assign(name, std::move(*value));
        }
    }
}

}  // namespace

Attributes record_attributes(const JoinedFiles& files, const SeriesStep::Record& record) {
    Attributes said;
    const std::vector<double>* times = times_of(files, record.dimension);
    if (times != nullptr && record.at < static_cast<Index>(times->size())) {
        said["time"] = (*times)[static_cast<std::size_t>(record.at)];
        add_units(said, files.first().dataset(record.dimension)->attributes());
    }
    if (const Place place = place_of(files, record); place.file != nullptr) {
        add_numbers(said, place);
    }
    return said;
}

}  // namespace fluvial::scan
