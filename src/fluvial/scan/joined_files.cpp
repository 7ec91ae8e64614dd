// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/joined_files.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/scan/coordinate_values.hpp"
#include "fluvial/scan/joined_dimension.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/scan/time_units.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {
namespace {

std::vector<JoinedFiles::FilePtr> open_all(const store::FileNames& names) {
    std::vector<JoinedFiles::FilePtr> files;
    for (const std::string& path : names.paths()) {
        files.push_back(store::open_file(path));
    }
    return files;
}

/// Behind records that are not complete no others can lie.
void check_that_only_the_last_grows(const std::vector<JoinedFiles::FilePtr>& files) {
    for (std::size_t i = 0; i + 1 < files.size(); ++i) {
        if (files[i]->grows()) {
            throw InvalidArgument(
                Problem{"a file that is still being written cannot be joined with those behind it",
                        "'" + files[i]->path() + "' before '" + files[i + 1]->path() + "'",
                        "such a file as the last one",
                        "Open them when it is complete, or leave out what is behind it"});
        }
    }
}

/// Of equal lengths, axes in another order would pass for the same. Axes without a name may be any.
void check_same_axes(const store::Dataset& part, const store::Dataset& first) {
    const auto &names = part.dimensions(), &expected = first.dimensions();
    for (std::size_t axis = 1; axis < std::min(names.size(), expected.size()); ++axis) {
        if (names[axis] != expected[axis] && !names[axis].empty() && !expected[axis].empty()) {
            throw InvalidArgument(
                Problem{text("cannot join '", part.name(), "' of '", part.bytes().path(), "'"),
                        text("axes ", listed(names)),
                        text(listed(expected), " as in '", first.bytes().path(), "'"),
                        "Reduce the files one by one"});
        }
    }
}

/// Dates, or numbers that count time.
bool are_times(const store::Dataset& coordinate) {
    const auto& names = coordinate.dimensions();
    return (!names.empty() && names.front() == "time") ||
           !text_of(coordinate.attributes(), "units").empty();
}

/// What two neighbours along an axis have at their border.
struct Border {
    std::size_t before = 0, after = 0;  ///< parts with records
    Index at = 0;                       ///< the first record of the second one
    double end = 0, begin = 0;          ///< the last value of the one, the first of the other
};

std::vector<Border> borders_of(const std::vector<double>& values,
                               const std::vector<Index>& begins) {
    std::vector<Border> found;
    std::optional<std::size_t> before;
    for (std::size_t part = 0; part + 1 < begins.size(); ++part) {
        if (begins[part] == begins[part + 1]) {
            continue;
        }
        const auto at = static_cast<std::size_t>(begins[part]);
        if (before) {
            found.push_back({*before, part, begins[part], values[at - 1], values[at]});
        }
        before = part;
    }
    return found;
}

/// The values of the first part tell whether they descend, or where it has one, its border.
bool descends(const std::vector<double>& values, const std::vector<Border>& borders) {
    const double first = values.front(), last = borders.front().end;
    return last < first || (last == first && borders.front().begin < first);
}

}  // namespace

JoinedFiles::JoinedFiles(const store::FileNames& names) : JoinedFiles(open_all(names)) {}

JoinedFiles::JoinedFiles(std::vector<FilePtr> files) : files_(std::move(files)) {
    FLUVIAL_ASSERT(!files_.empty());
    check_that_only_the_last_grows(files_);
    if (files_.size() > 1) {
        dimension_ = joined_dimension(first());
    }
}

const JoinedFiles::Parts& JoinedFiles::parts_of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto known = parts_.find(name);
    return known != parts_.end() ? known->second
                                 : parts_.emplace(name, find_parts(name)).first->second;
}

JoinedFiles::Parts JoinedFiles::find_parts(const std::string& name) const {
    Parts parts{first().dataset(name)};
    const auto begin = first_dimension(first(), *parts.front());
    if (!dimension_ || !begin) {
        return parts;
    }
    if (*begin == *dimension_) {
        for (std::size_t i = 1; i < files_.size(); ++i) {
            parts.push_back(files_[i]->dataset(name));
        }
        shape_of_all(parts);  // which refuses what does not fit
        for (const DatasetPtr& part : parts) {
            check_same_axes(*part, *parts.front());
        }
    } else if (!dimension_->empty() && axis_along(first(), *parts.front(), *dimension_)) {
        throw InvalidArgument(
            Problem{text("'", name, "' of '", first().path(), "' cannot be joined"),
                    "'" + *begin + "' as its first dimension",
                    "'" + *dimension_ + "', along which the files are joined",
                    "Open the files one by one"});
    }
    return parts;
}

const std::vector<double>& JoinedFiles::values_of(const std::string& name) const {
    parts_of(name);
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = values_.find(name); known != values_.end()) {
            return known->second;
        }
    }
    std::vector<double> values = read_values(name);  // which takes a while
    const std::lock_guard lock(mutex_);
    return values_.emplace(name, std::move(values)).first->second;
}

std::vector<double> JoinedFiles::read_values(const std::string& name) const {
    const Parts& parts = parts_of(name);
    std::vector<double> values = joined_values(parts);
    for (std::size_t i = 1; i < files_.size() && parts.size() == 1; ++i) {
        check_same_values(*files_[i]->dataset(name), values, *parts.front());
    }
    return values;
}

std::string JoinedFiles::out_of_order(const std::string& coordinate, Index begin, Index end) const {
    const Parts& parts = parts_of(coordinate);
    if (parts.size() == 1 || !are_times(*parts.front()) || !differing_units(parts).empty()) {
        return "";
    }
    const std::vector<double>& values = values_of(coordinate);
    const std::vector<Border> borders = borders_of(values, part_begins({parts, {}}));
    for (const Border& border : borders) {
        const bool wrong =
            descends(values, borders) ? border.begin >= border.end : border.begin <= border.end;
        if (wrong && begin < border.at && end > border.at) {
            const auto shown = [&](double value) {
                const std::string units = text_of(parts.front()->attributes(), "units");
                return exact(value) + (units.empty() ? "" : " " + units);
            };
            return text("the files are not in order along '", *dimension_, "': got ",
                        shown(border.begin), " as the first of '", files_[border.after]->path(),
                        "', and ", shown(border.end), " as the last of '",
                        files_[border.before]->path(),
                        "' before it. What both have counts twice; name files in their order, and "
                        "leave out by isel what a restarted run has written again");
        }
    }
    return "";
}

}  // namespace fluvial::scan
