// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/series.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/scan/followed_files.hpp"
#include "fluvial/scan/followed_joined.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/staged_file.hpp"
#include "fluvial/scan/stored_steps.hpp"
#include "fluvial/stage/job_options.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/store/engines.hpp"
#include "fluvial/store/numbered_files.hpp"

namespace fluvial::scan {
namespace {

/// An engine, and how the formats of its files begin; none: no files.
struct Engine {
    std::string_view name;
    std::vector<std::string_view> formats;
};

const std::vector<Engine>& engines() {
    static const std::vector<Engine> all = {{"stage", {}},
                                            {"hdf5", {"HDF5", "netCDF-4"}},
                                            {"netcdf", {"netCDF"}},
                                            {"zarr", {"Zarr"}},
                                            {"raw", {"raw"}}};
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
                                  "'" + said.name + "'", "stage, hdf5, netcdf, zarr, raw",
                                  "From Python there is bp"});
}

bool exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

bool means_files(const store::FileNames& name) {
    return name.is_list() || name.several() || store::names_files(name.said()) ||
           exists(name.said());
}

/// Without folders: nodes may have a file system in different places.
std::string files_of(const StoredSteps& steps) {
    std::string names;
    for (const auto& file : steps.files()->files()) {
        names +=
            (names.empty() ? "" : ", ") + std::filesystem::path(file->path()).filename().string();
    }
    return names;
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

struct Series::State {
    std::string name;
    SeriesOptions options = {};
    std::unique_ptr<stage::Reader> reader = nullptr;  ///< of a stream
    std::unique_ptr<FollowedSeries> followed = nullptr;
    std::optional<StoredSteps> stored = {};  ///< until close()
    std::size_t next = 0;
};

Series::Series(const store::FileNames& called, const mpi::Comm& comm, const SeriesOptions& said)
    : state_(std::make_shared<State>()) {
    State& state = *state_;
    bool live = false;
    store::FileNames name = called;
    mpi::agree_on(
        comm,
        [&] {
            auto choice = stage::with_job_options(
                called.is_list() ? std::nullopt : std::optional(called.said()), said);
            if (choice.path) {
                name = *choice.path;
            }
            state.name = name.said();
            state.options = std::move(choice.options);
            const Engine* engine = engine_of(state.options);
            live = engine != nullptr ? engine->formats.empty() : !means_files(name);
            if (live ? name.is_list() || name.several() : state.options.follow && name.is_list()) {
                throw InvalidArgument(Problem{
                    live ? "a list or a pattern is no stream" : "this cannot be followed",
                    state.name,
                    live ? "one name by itself"
                         : "one file, a pattern by which files are found as they appear, as "
                           "'run_*.nc', or a file for each step, as 'data%T.h5'",
                    ""});
            }
            if (!live) {
                stage::refuse_options_of_python(choice.of_python);
            }
        },
        [&](Terms& terms) {
            terms.add("the name of a series", state.name);
            terms.add("what it is", live                   ? "a stream"
                                    : state.options.follow ? "files that are followed"
                                                           : "files");
        });
    if (live) {
        state.reader = std::make_unique<stage::Reader>(state.name, comm, state.options.stream);
        return;
    }
    const auto open = [name, options = state.options](bool unnamed) {
        StoredSteps found(name, unnamed);
        check_format(found.first(), engine_of(options));
        return found;
    };
    if (state.options.follow) {
        const FollowedSeries::Limits limits{
            state.options.stream.rendezvous_timeout_s, state.options.stream.step_timeout_s,
            state.options.stream.stall_timeout_s, state.options.until};
        if (name.several() && !store::has_number(state.name)) {
            state.followed = std::make_unique<FollowedJoined>(
                state.name, comm,
                [options = state.options](const std::string& path) {
                    auto file = store::open_file(path);
                    check_format(*file, engine_of(options));
                    return file;
                },
                limits);
            return;
        }
        state.followed = std::make_unique<FollowedFiles>(
            state.name, comm, [open] { return open(true); }, limits);
        return;
    }
    mpi::agree_on(
        comm, [&] { state.stored = open(false); },
        [&](Terms& terms) {
            terms.add("the number of steps in the files", exact(static_cast<std::int64_t>(size())),
                      "Open them where all ranks see the same files, and after they are written");
            terms.add("the files", files_of(*state.stored),
                      "Open them where all ranks see the same files");
        });
}

Series::Series(Series&&) noexcept = default;
Series& Series::operator=(Series&&) noexcept = default;
Series::~Series() = default;

bool Series::live() const {
    return state_->reader != nullptr;
}

const SeriesOptions& Series::options() const {
    return state_->options;
}

std::optional<SeriesStep> Series::next(std::optional<double> timeout_s) {
    State& state = *state_;
    if (state.reader) {
        const auto step = state.reader->next(timeout_s);
        if (!step) {
            return std::nullopt;
        }
        return SeriesStep(iteration_of(step->attributes(), step->index()),
                          as_file(*step, text("step ", step->index(), " of '", state.name, "'")));
    }
    if (state.followed) {
        return state.followed->next(timeout_s);
    }
    if (!state.stored) {
        throw InvalidArgument("the series is closed; ask for steps before close()");
    }
    return state.next < state.stored->size() ? std::optional(state.stored->open(state.next++))
                                             : std::nullopt;
}

std::size_t Series::size() const {
    const State& state = *state_;
    if (state.reader) {
        throw InvalidArgument(Problem{"it is not known how many steps a stream will have",
                                      state.name, "a series in files",
                                      "Ask for one after the other by next()"});
    }
    if (state.followed) {
        throw InvalidArgument(Problem{
            "it is not known how many steps files will have that are "
            "followed",
            state.name, "files that are complete", "Ask for one after the other by next()"});
    }
    return state.stored ? state.stored->size() : 0;
}

SeriesStep Series::at(std::size_t position) const {
    if (position >= size()) {
        throw InvalidArgument(
            Problem{"no such step", text(position),
                    size() == 0 ? "none, as there are no steps" : text("0 to ", size() - 1), ""});
    }
    return state_->stored->open(position);
}

Variable Series::variable(const std::string& name) const {
    size();  // which refuses what has no end yet
    const State& state = *state_;
    if (!state.stored || state.stored->numbered()) {
        throw InvalidArgument(Problem{"there is no variable of all steps together",
                                      state.stored ? state.name : "a series that is closed",
                                      "files that are joined: a list of them, or a pattern with *",
                                      "Take it of each step"});
    }
    return {state.stored->files(), name};
}

Attributes Series::attributes() const {
    const State& state = *state_;
    if (state.reader) {
        return state.reader->attributes();
    }
    return state.followed ? state.followed->attributes()
           : state.stored ? state.stored->first().attributes()
                          : Attributes();
}

void Series::close() {
    State& state = *state_;
    if (state.reader) {
        state.reader->close();
    }
    if (state.followed) {
        state.followed->close();
    }
    state.stored.reset();
    state.next = 0;
}

}  // namespace fluvial::scan
