// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/stored_steps.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {

namespace {

/// Of one file, or the one by which several are joined.
std::optional<std::string> dimension_of_steps(const JoinedFiles& files, bool unnamed) {
    const auto& joined = files.dimension();
    if (!joined) {
        return record_dimension(files.first(), unnamed);
    }
    const auto& all = files.first().dimensions();
    const bool named =
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == *joined; });
    return named ? joined : std::nullopt;
}

}  // namespace

StoredSteps::StoredSteps(const store::FileNames& names, bool unnamed) : unnamed_(unnamed) {
    std::error_code error;
    const std::string name = names.said();
    numbered_ =
        !names.is_list() && store::has_number(name) && !std::filesystem::exists(name, error);
    if (numbered_) {
        find_numbered(name);
        return;
    }
    files_ = std::make_shared<const JoinedFiles>(names);
    if (!store::is_openpmd(first())) {
        find_records();
        return;
    }
    if (files_->files().size() > 1) {
        throw InvalidArgument(
            Problem{"files of openPMD are not joined", text(files_->files().size(), " of them"),
                    "one, or a file for each step by its number, 'data%T.h5'", ""});
    }
    find_iterations();
}

const store::File& StoredSteps::first() const {
    return files_->first();
}

void StoredSteps::add(std::uint64_t number, std::function<SeriesStep()> open) {
    numbers_.push_back(number);
    steps_.push_back(std::move(open));
}

void StoredSteps::find_numbered(const std::string& pattern) {
    const auto files = store::numbered_files(pattern);
    files_ = std::make_shared<const JoinedFiles>(store::open_file(files.begin()->second));
    for (const auto& [number, path] : files) {
        add(number, [unnamed = unnamed_, number = number, path = path] {
            return whole_file(number, path, unnamed);
        });
    }
}

void StoredSteps::find_iterations() {
    for (const store::Iteration& iteration : store::iterations_of(files_->files().front())) {
        add(iteration.index,
            [iteration] { return SeriesStep(iteration.index, iteration.contents); });
    }
}

void StoredSteps::find_records() {
    const auto dimension = dimension_of_steps(*files_, unnamed_);
    if (!dimension) {
        add(0, [files = files_] { return SeriesStep(0, files); });
        return;
    }
    Index records = 0;
    for (const auto& file : files_->files()) {
        records += records_along(*file, *dimension);
    }
    for (Index at = 0; at < records; ++at) {
        const auto number = static_cast<std::uint64_t>(at);
        add(number, [files = files_, name = *dimension, at, number] {
            return SeriesStep(number, files, SeriesStep::Record{name, at});
        });
    }
}

SeriesStep StoredSteps::whole_file(std::uint64_t number, const std::string& path, bool unnamed) {
    const auto file = store::open_file(path);
    if (store::is_openpmd(*file)) {
        const auto found = store::iterations_of(file);
        if (found.size() != 1) {
            throw DamagedFile(Problem{"'" + path + "' is no file of one iteration",
                                      text(found.size()), "1 in each of numbered files",
                                      "Open the file by itself"});
        }
        return {number, found.front().contents};
    }
    const auto dimension = record_dimension(*file, unnamed);
    if (dimension && records_along(*file, *dimension) == 1) {
        return {number, file, SeriesStep::Record{*dimension, 0}};
    }
    return {number, file};
}

}  // namespace fluvial::scan
