// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/followed_files.hpp"
#include "fluvial/scan/staged_file.hpp"
#include "fluvial/store/engines.hpp"

namespace fluvial::scan {
namespace {

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

void check_format(const store::File& file, const Engine* engine) {
    if (engine == nullptr ||
        std::any_of(engine->formats.begin(), engine->formats.end(),
                    [&](std::string_view format) { return file.format().starts_with(format); })) {
        return;
    }
    throw InvalidArgument(Problem{
        text("'", file.path(), "' is of another format than engine '", engine->name, "' reads"),
        file.format(), std::string(engine->formats.front()), "Leave the engine out"});
}

}  // namespace

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
            terms.add("what it is", live             ? "a stream"
                                    : options.follow ? "files that are followed"
                                                     : "files");
        });
    if (live) {
        reader_ = std::make_unique<stage::Reader>(name, comm, options.stream);
        return;
    }
    const auto open = [name, options](bool unnamed) {
        StoredSteps found(name, unnamed);
        check_format(found.first(), engine_of(options));
        return found;
    };
    if (options.follow) {
        followed_ = std::make_unique<FollowedFiles>(
            name, comm, [open] { return open(true); },
            FollowedFiles::Limits{options.stream.rendezvous_timeout_s,
                                  options.stream.step_timeout_s, options.stream.stall_timeout_s,
                                  options.until});
        return;
    }
    mpi::agree_on(
        comm, [&] { stored_ = open(false); },
        [&](Terms& terms) {
            terms.add("the number of steps in the files", exact(static_cast<std::int64_t>(size())),
                      "Open them where all ranks see the same files, and after they are written");
        });
}

Series::Series(Series&&) noexcept = default;
Series& Series::operator=(Series&&) noexcept = default;
Series::~Series() = default;

std::optional<SeriesStep> Series::next() {
    if (reader_) {
        const auto step = reader_->next();
        if (!step) {
            return std::nullopt;
        }
        return SeriesStep(iteration_of(step->attributes(), step->index()),
                          as_file(*step, text("step ", step->index(), " of '", name_, "'")));
    }
    if (followed_) {
        return followed_->next();
    }
    if (!stored_) {
        throw InvalidArgument(Problem{"this series has been moved from", "an empty object",
                                      "the one that it was moved to", ""});
    }
    return next_ < stored_->size() ? std::optional(stored_->open(next_++)) : std::nullopt;
}

std::size_t Series::size() const {
    if (reader_) {
        throw InvalidArgument(Problem{"it is not known how many steps a stream will have", name_,
                                      "a series in files",
                                      "Ask for one after the other by next()"});
    }
    if (followed_) {
        throw InvalidArgument(
            Problem{"it is not known how many steps files will have that are "
                    "followed",
                    name_, "files that are complete", "Ask for one after the other by next()"});
    }
    return stored_ ? stored_->size() : 0;
}

SeriesStep Series::at(std::size_t position) const {
    if (position >= size()) {
        throw InvalidArgument(
            Problem{"no such step", text(position),
                    size() == 0 ? "none, as there are no steps" : text("0 to ", size() - 1), ""});
    }
    return stored_->open(position);
}

Attributes Series::attributes() const {
    if (reader_) {
        return reader_->attributes();
    }
    return followed_ ? followed_->attributes()
           : stored_ ? stored_->first().attributes()
                     : Attributes();
}

void Series::close() {
    if (reader_) {
        reader_->close();
    }
    if (followed_) {
        followed_->close();
    }
    stored_.reset();
    next_ = 0;
}

}  // namespace fluvial::scan
