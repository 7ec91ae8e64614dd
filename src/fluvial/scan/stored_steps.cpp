// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/stored_steps.hpp"

#include <filesystem>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/record_axis.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {

StoredSteps::StoredSteps(const std::string& name, bool unnamed) : unnamed_(unnamed) {
    std::error_code error;
    if (store::has_number(name) && !std::filesystem::exists(name, error)) {
        find_numbered(name);
    } else {
        first_ = store::open_file(name);
        find_in(first_);
    }
}

void StoredSteps::add(std::uint64_t number, std::function<SeriesStep()> open) {
    numbers_.push_back(number);
    steps_.push_back(std::move(open));
}

void StoredSteps::find_numbered(const std::string& pattern) {
    const auto files = store::numbered_files(pattern);
    first_ = store::open_file(files.begin()->second);
    for (const auto& [number, path] : files) {
        add(number, [unnamed = unnamed_, number = number, path = path] {
            return whole_file(number, path, unnamed);
        });
    }
}

void StoredSteps::find_in(const std::shared_ptr<const store::File>& file) {
    if (store::is_openpmd(*file)) {
        for (const store::Iteration& iteration : store::iterations_of(file)) {
            add(iteration.index,
                [iteration] { return SeriesStep(iteration.index, iteration.contents); });
        }
        return;
    }
    const auto dimension = record_dimension(*file, unnamed_);
    if (!dimension) {
        add(0, [file] { return SeriesStep(0, file); });
        return;
    }
    const Index records = records_along(*file, *dimension);
    for (Index at = 0; at < records; ++at) {
        const auto number = static_cast<std::uint64_t>(at);
        add(number, [file, name = *dimension, at, number] {
            return SeriesStep(number, file, SeriesStep::Record{name, at});
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
