// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/staged_file.hpp"
#include "fluvial/store/engines.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {
namespace {

using FilePtr = std::shared_ptr<const store::File>;

/// An engine, and how the formats of its files begin; none: no files.
struct Engine {
    std::string_view name;
    std::vector<std::string_view> formats;
};

const std::vector<Engine>& engines() {
    static const std::vector<Engine> all = {
        {"stage", {}}, {"hdf5", {"HDF5", "netCDF-4"}}, {"netcdf", {"netCDF"}}, {"raw", {"raw"}}};
    return all;
}

/// The engine that was asked for; null when none was.
const Engine* engine_of(const SeriesOptions& options) {
    const store::SaidEngine said = store::said_engine(options.engine);
    if (said.name.empty()) {
        return nullptr;
    }
    for (const Engine& engine : engines()) {
        if (engine.name == said.name) {
            return &engine;
        }
    }
    throw InvalidArgument(Problem{said.where + " names none that there is from C++",
                                  "'" + said.name + "'", "stage, hdf5, netcdf, raw",
                                  "From Python there are zarr and bp"});
}

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

bool means_files(const std::string& name) {
    return store::names_files(name) || exists(name);
}

void check_format(const FilePtr& file, const Engine* engine) {
    if (engine == nullptr ||
        std::any_of(engine->formats.begin(), engine->formats.end(),
                    [&](std::string_view format) { return file->format().starts_with(format); })) {
        return;
    }
    throw InvalidArgument(Problem{
        text("'", file->path(), "' is of another format than engine '", engine->name, "' reads"),
        file->format(), std::string(engine->formats.front()), "Leave the engine out"});
}

/// Whether a coordinate is time, as the CF conventions say it.
bool is_time(const Attributes& attributes) {
    const auto said = [&](const char* key) {
        const auto found = attributes.find(key);
        const auto* words =
            found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
        return words == nullptr ? std::string() : *words;
    };
    return said("axis") == "T" || said("standard_name") == "time" ||
           said("units").find(" since ") != std::string::npos;
}

/// The dimension whose places are the steps: the unlimited one, or that of time.
std::optional<store::Dimension> record_dimension(const store::File& file) {
    std::vector<store::Dimension> unlimited, times;
    for (const store::Dimension& dimension : file.dimensions()) {
        if (dimension.unlimited) {
            unlimited.push_back(dimension);
        }
    }
    if (unlimited.size() == 1) {
        return unlimited.front();
    }
    for (const store::Dimension& dimension : unlimited.empty() ? file.dimensions() : unlimited) {
        const auto& names = file.names();
        if (std::find(names.begin(), names.end(), dimension.name) != names.end() &&
            !file.unreadable().contains(dimension.name) &&
            is_time(file.dataset(dimension.name)->attributes())) {
            times.push_back(dimension);
        }
    }
    if (times.size() > 1 || (unlimited.size() > 1 && times.empty())) {
        throw InvalidArgument(Problem{"'" + file.path() + "' has no steps",
                                      text(std::max(times.size(), unlimited.size()), " dimensions"),
                                      "one dimension of time, or one that is unlimited",
                                      "Use its datasets whole: Variable::open"});
    }
    return times.empty() ? std::nullopt : std::optional(times.front());
}

}  // namespace

const Attributes& SeriesStep::attributes() const {
    static const Attributes none;
    return record_ ? none : file_->attributes();
}

bool SeriesStep::has(const std::string& name) const {
    const auto& all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
}

std::optional<int> SeriesStep::axis_of_record(const store::Dataset& dataset) const {
    const auto& dimensions = dataset.dimensions();
    const auto found = record_ ? std::find(dimensions.begin(), dimensions.end(), record_->dimension)
                               : dimensions.end();
    return found == dimensions.end() ? std::nullopt
                                     : std::optional(static_cast<int>(found - dimensions.begin()));
}

Variable SeriesStep::variable(const std::string& name) const {
    const Variable whole = Variable::of(file_, name);
    const auto axis = axis_of_record(*file_->dataset(name));
    return axis ? whole.isel(whole.dimensions()[static_cast<std::size_t>(*axis)], record_->at)
                : whole;
}

compute::Array SeriesStep::read(const std::string& name) const {
    const DatasetPtr dataset = file_->dataset(name);
    Region region = whole(dataset->shape());
    Coordinates shape = dataset->shape();
    if (const auto axis = axis_of_record(*dataset)) {
        region.offset[*axis] = record_->at;
        region.extent[*axis] = 1;
        shape = Coordinates(dataset->shape().size() - 1, 0);
        for (int i = 0; i < shape.size(); ++i) {
            shape[i] = dataset->shape()[i < *axis ? i : i + 1];
        }
    }
    compute::Array array(dataset->dtype(), shape);
    dataset->read(region, {array.bytes.data(), array.dtype, region.extent,
                           contiguous_strides(region.extent, size_of(array.dtype))});
    return array;
}

Series::Series(const std::string& name, const mpi::Comm& comm, const SeriesOptions& options)
    : name_(name) {
    bool live = false;
    mpi::agree_on(
        comm,
        [&] {
            const Engine* engine = engine_of(options);
            live = engine != nullptr ? engine->formats.empty() : !means_files(name);
        },
        [&](Terms& terms) {
            terms.add("the name of a series", name);
            terms.add("what it is", live ? "a stream" : "files");
        });
    if (live) {
        reader_ = std::make_unique<stage::Reader>(name, comm, options.stream);
        return;
    }
    mpi::agree_on(
        comm,
        [&] {
            if (!store::has_number(name) || exists(name)) {
                first_ = store::open_file(name);
                find_steps(first_);
            } else {
                find_numbered(name);
            }
            check_format(first_, engine_of(options));
        },
        [&](Terms& terms) {
            terms.add("the number of steps in the files", exact(static_cast<std::int64_t>(size())),
                      "Open them where all ranks see the same files, and after they are written");
        });
}

void Series::find_numbered(const std::string& pattern) {
    const auto files = store::numbered_files(pattern);
    first_ = store::open_file(files.begin()->second);
    for (const auto& [number, path] : files) {
        steps_.push_back([number = number, path = path] { return whole_file(number, path); });
    }
}

void Series::find_steps(const FilePtr& file) {
    if (store::is_openpmd(*file)) {
        for (const store::Iteration& iteration : store::iterations_of(file)) {
            steps_.push_back(
                [iteration] { return SeriesStep(iteration.index, iteration.contents); });
        }
        return;
    }
    const auto dimension = record_dimension(*file);
    if (!dimension) {
        steps_.push_back([file] { return SeriesStep(0, file); });
        return;
    }
    for (Index at = 0; at < dimension->length; ++at) {
        steps_.push_back([file, name = dimension->name, at] {
            return SeriesStep(static_cast<std::uint64_t>(at), file, SeriesStep::Record{name, at});
        });
    }
}

SeriesStep Series::whole_file(std::uint64_t number, const std::string& path) {
    const FilePtr file = store::open_file(path);
    if (store::is_openpmd(*file)) {
        const auto found = store::iterations_of(file);
        if (found.size() != 1) {
            throw DamagedFile(Problem{"'" + path + "' is no file of one iteration",
                                      text(found.size()), "1 in each of numbered files",
                                      "Open the file by itself"});
        }
        return {number, found.front().contents};
    }
    const auto dimension = record_dimension(*file);
    if (dimension && dimension->length == 1) {
        return {number, file, SeriesStep::Record{dimension->name, 0}};
    }
    return {number, file};
}

std::optional<SeriesStep> Series::next() {
    if (reader_) {
        const auto step = reader_->next();
        if (!step) {
            return std::nullopt;
        }
        return SeriesStep(iteration_of(step->attributes(), step->index()),
                          as_file(*step, text("step ", step->index(), " of '", name_, "'")));
    }
    return next_ < steps_.size() ? std::optional(steps_[next_++]()) : std::nullopt;
}

std::size_t Series::size() const {
    if (reader_) {
        throw InvalidArgument(Problem{"it is not known how many steps a stream will have", name_,
                                      "a series in files",
                                      "Ask for one after the other by next()"});
    }
    return steps_.size();
}

SeriesStep Series::at(std::size_t position) const {
    if (position >= size()) {
        throw InvalidArgument(Problem{
            "no such step", text(position),
            steps_.empty() ? "none, as there are no steps" : text("0 to ", size() - 1), ""});
    }
    return steps_[position]();
}

Attributes Series::attributes() const {
    return reader_ ? reader_->attributes() : first_ ? first_->attributes() : Attributes();
}

void Series::close() {
    if (reader_) {
        reader_->close();
    }
    steps_.clear();
    next_ = 0;
}

}  // namespace fluvial::scan
