// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/series_writer.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stage/job_options.hpp"
#include "fluvial/store/engines.hpp"
#include "fluvial/store/output.hpp"

namespace fluvial::stage {
namespace {

/// The engine that writes a series of this name.
std::string engine_of(const std::string& name, const std::string& option) {
    const store::SaidEngine said = store::said_engine(option);
    if (said.name == "stage") {
        return "stage";
    }
    if (said.name.empty() && !store::names_files(name)) {
        std::error_code error;
        if (std::filesystem::exists(name, error)) {  // which readers would take it for
            const std::string what = std::filesystem::is_directory(name, error) ? "folder" : "file";
            throw InvalidArgument(Problem{
                "a stream is to have the name of a " + what + " that is here", "'" + name + "'",
                "a name that no file or folder here has, or a stream, by engine='stage'",
                "Readers here need engine='stage', too. For a file, give engine='hdf5' or a name "
                "such as 'run.h5'"});
        }
        return "stage";
    }
    if (store::writes_files(said.name)) {
        return said.name;
    }
    constexpr std::array<std::pair<std::string_view, const char*>, 6> suffixes = {
        {{".h5", "hdf5"},
         {".hdf5", "hdf5"},
         {".he5", "hdf5"},
         {".nc", "netcdf"},
         {".nc5", "netcdf"},
         {".nc4", "netcdf4"}}};
    for (const auto& [suffix, engine] : suffixes) {
        if (said.name.empty() && store::has_suffix(name, suffix)) {
            return engine;
        }
    }
    throw InvalidArgument(Problem{
        "files of this kind cannot be written from C++",
        said.name.empty() ? "'" + name + "'"
                          : "'" + name + "' with " + said.where + " '" + said.name + "'",
        "HDF5 (.h5, 'hdf5'), netCDF (.nc, 'netcdf', or .nc4, 'netcdf4'), and streams, whose names "
        "have no suffix of a file format",
        "Write HDF5, and convert it by `fluvial pipe`"});
}

std::variant<Writer, FileWriter> open(const std::string& called, const mpi::Comm& comm,
                                      const SeriesWriterOptions& said) {
    std::string engine, name;
    SeriesWriterOptions options;
    mpi::agree_on(
        comm,
        [&] {
            Choice<SeriesWriterOptions> choice = with_job_options(called, said);
            name = choice.path.value_or(called);
            options = std::move(choice.options);
            engine = engine_of(name, options.engine);
            if (engine != "stage") {
                refuse_options_of_python(choice.of_python);
            }
        },
        [&](Terms& terms) {
            terms.add("the engine", engine);
            // Without folders: nodes may have a file system in different places.
            terms.add("what to write", std::filesystem::path(name).filename().string());
        });
    if (engine == "stage") {
        return Writer(name, comm, options.stream);
    }
    return FileWriter(name, comm,
                      {engine, options.compression, options.stream.step_timeout_s,
                       options.stream.stall_timeout_s, options.aggregators});
}

}  // namespace

std::uint64_t SeriesWriteStep::index() const {
    return std::visit([](const auto& step) { return step.index(); }, step_);
}

bool SeriesWriteStep::accepted() const {
    const auto* const step = std::get_if<WriteStep>(&step_);
    return step == nullptr || step->accepted();
}

void SeriesWriteStep::put(const std::string& name, const ArrayView& data, const Coordinates& offset,
                          const Coordinates& shape, const Attributes& attributes) {
    std::visit([&](auto& step) { step.put(name, data, offset, shape, attributes); }, step_);
}

MutableArrayView SeriesWriteStep::span(const std::string& name, DType dtype, const Region& region,
                                       const Coordinates& shape, const Attributes& attributes) {
    return std::visit([&](auto& step) { return step.span(name, dtype, region, shape, attributes); },
                      step_);
}

void SeriesWriteStep::end() {
    std::visit([](auto& step) { step.end(); }, step_);
}

void SeriesWriteStep::abandon() {
    std::visit([](auto& step) { step.abandon(); }, step_);
}

SeriesWriter::SeriesWriter(const std::string& name, const mpi::Comm& comm,
                           const SeriesWriterOptions& options)
    : writer_(open(name, comm, options)) {}

void SeriesWriter::set_attributes(const Attributes& attributes) {
    std::visit([&](auto& writer) { writer.set_attributes(attributes); }, writer_);
}

SeriesWriteStep SeriesWriter::begin_step(const Attributes& attributes, const StepSaid& said) {
    const auto iteration = said.iteration || !live() ? said.iteration : next_iteration_;
    const Attributes all = with_groups(attributes, said.groups, iteration);
    SeriesWriteStep step =
        std::visit([&](auto& writer) { return SeriesWriteStep(writer.begin_step(all)); }, writer_);
    if (iteration) {
        next_iteration_ = *iteration + 1;
    }
    return step;
}

void SeriesWriter::close() {
    std::visit([](auto& writer) { writer.close(); }, writer_);
}

}  // namespace fluvial::stage
