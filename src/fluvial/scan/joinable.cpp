// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/joinable.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "fluvial/base/error.hpp"
#include "fluvial/base/nearest_name.hpp"
#include "fluvial/scan/joined_dimension.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/scan/stored_alike.hpp"
#include "fluvial/store/iterations.hpp"

namespace fluvial::scan {
namespace {

bool is_label(const store::Dataset& dataset) {
    const std::string own = dataset.name().substr(dataset.name().rfind('/') + 1);
    return dataset.dimensions() == std::vector{own};
}

/// What a dataset must have in all files, in words.
std::string said(const store::File& file, const std::string& name, const std::string& dimension) {
    const auto dataset = file.dataset(name);
    const auto along = axis_along(file, *dataset, dimension);
    const auto& names = dataset->dimensions();
    std::string axes;
    for (int axis = 0; axis < dataset->shape().size(); ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        const bool named = at < names.size() && !names[at].empty();
        axes += text(axis == 0 ? "" : ", ", named ? names[at] : "an axis", ": ",
                     along == axis ? "any" : text(dataset->shape()[axis]));
    }
    // Labels may be of any dtype, as they are decoded.
    return text("(", axes, ")", is_label(*dataset) ? "" : text(" ", name_of(dataset->dtype())));
}

bool counts_dates(const store::Dataset& dataset) {
    return text_of(dataset.attributes(), "units").find(" since ") != std::string::npos;
}

[[noreturn]] void refuse(const store::File& next, const store::File& before, const std::string& got,
                         const std::string& allowed) {
    throw InvalidArgument(
        Problem{"'" + next.path() + "' does not join the files before it, whose steps were given",
                got, allowed + ", as in '" + before.path() + "'",
                "Follow files of one kind by a narrower pattern"});
}

void check_same_names(const store::File& before, const store::File& next) {
    const std::set<std::string> expected(before.names().begin(), before.names().end());
    if (expected != std::set<std::string>(next.names().begin(), next.names().end())) {
        refuse(next, before, "datasets " + listed(next.names()), listed(before.names()));
    }
}

}  // namespace

std::string steps_dimension(const store::File& file) {
    if (store::is_openpmd(file)) {
        throw InvalidArgument(
            Problem{"files of openPMD are not joined", "'" + file.path() + "'",
                    "one, or a file for each step by its number, as in 'data%T.h5'", ""});
    }
    const auto& all = file.dimensions();
    const auto found = joined_dimension(file);
    if (found &&
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == *found; })) {
        return *found;
    }
    if (record_dimension(file, true) == unnamed_records) {
        return unnamed_records;
    }
    throw InvalidArgument(
        Problem{"'" + file.path() + "' has no dimension along which files are joined",
                "datasets " + listed(file.names()), "datasets with an axis of records",
                "Name one file, or a file for each step, as in 'data%T.h5'"});
}

void check_joins(const std::shared_ptr<const store::File>& before,
                 const std::shared_ptr<const store::File>& next, const std::string& dimension) {
    check_same_names(*before, *next);
    std::vector<std::string> names = before->names();
    std::erase_if(names, [&](const std::string& name) {
        return before->unreadable().contains(name) || next->unreadable().contains(name);
    });
    for (const std::string& name : names) {
        const std::string got = said(*next, name, dimension),
                          allowed = said(*before, name, dimension);
        if (got != allowed) {
            refuse(*next, *before, text(got, " of '", name, "'"), allowed);
        }
    }
    try {
        const JoinedFiles together(std::vector{before, next});
        for (const std::string& name : names) {
            together.parts_of(name);
            const auto first = before->dataset(name), second = next->dataset(name);
            if (is_label(*first)) {
                together.values_of(name);
            } else if (!counts_dates(*first) || !counts_dates(*second)) {
                check_stored_alike(*second, *first);
            }
        }
    } catch (const Error& error) {
        throw_error(
            error.kind(),
            text("'", next->path(),
                 "' does not join the files before it, whose steps were given: ", error.what()));
    }
}

}  // namespace fluvial::scan
