// SPDX-License-Identifier: Apache-2.0
/// A series of steps, whether they come from a stream or lie in files: one call opens either, and
/// what is done with a step is the same.
///
///     Series series("run.h5", comm);              // or "data%T.h5", "run.nc", or a stream: "melt"
///     while (const auto step = series.next()) {
///         const Variable e = step->variable("meshes/E/x");
///         e.where(Comparison::Greater, 0).reduce({"mean", "max"}, {}, comm);
///     }
///     series.close();
///
/// | what is opened                | its steps                                                    |
/// |-------------------------------|--------------------------------------------------------------|
/// | a stream                      | those of stage::Reader, as they come                         |
/// | a file of openPMD             | its iterations                                               |
/// | numbered files, "data%T.h5"   | a file each, opened with its step                            |
/// | any other file                | the records of its unlimited dimension, or of the one whose  |
/// |                               | coordinate is time; else one step with all that there is     |
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/variable.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::scan {

struct SeriesOptions {
    /// "stage" for streams; "hdf5", "netcdf" or "raw" for files of it. Empty: FLUVIAL_ENGINE, or
    /// else as the name says: files where one of this name exists, or it has the suffix of a
    /// format, a "/" or a "%".
    std::string engine{};
    /// Of a stream; without effect on files.
    stage::ReaderOptions stream{};
};

/// One step. Of a stream usable until the next one is asked for, of files for as long as it exists.
class SeriesStep {
  public:
    /// The number of the step, the iteration or the record, or that in the file's name.
    std::uint64_t index() const { return index_; }
    /// The attributes of the step or iteration, or of the file where that is the step; a record has
    /// none.
    const Attributes& attributes() const;
    const std::vector<std::string>& names() const { return file_->names(); }
    bool has(const std::string& name) const;
    /// The dataset as scans take it (scan.hpp). Of a record this has the axis of time, too. Throws
    /// InvalidArgument that lists the names when there is none of this name.
    DatasetPtr dataset(const std::string& name) const { return file_->dataset(name); }
    /// The same to be selected and reduced. Of a record, the axis of time has a length of 1.
    Variable variable(const std::string& name) const;
    /// All of a dataset's elements, stored values in native byte order; of a record without the
    /// axis of time. Local, blocking.
    compute::Array read(const std::string& name) const;

    /// A dimension of the file, and the place along it that is this step.
    struct Record {
        std::string dimension;
        Index at = 0;
    };

  private:
    friend class Series;
    SeriesStep(std::uint64_t index, std::shared_ptr<const store::File> file,
               std::optional<Record> record = {})
        : index_(index), file_(std::move(file)), record_(std::move(record)) {}
    std::optional<int> axis_of_record(const store::Dataset& dataset) const;

    std::uint64_t index_;
    std::shared_ptr<const store::File> file_;
    std::optional<Record> record_;
};

class Series {
  public:
    /// Collective over `comm`, whose ranks open the same: a stream as stage::Reader does, files
    /// each for itself. Throws on every rank what stage::Reader and store::open_file throw, and
    /// InvalidArgument for an engine that there is not, or that does not read what was found, and
    /// where ranks see different numbers of steps.
    Series(const std::string& name, const mpi::Comm& comm, const SeriesOptions& options = {});

    bool live() const { return reader_ != nullptr; }
    /// The next step; none at the end. Of a stream it waits, and ends the step before; errors are
    /// those of stage::Reader::next. Of files local.
    std::optional<SeriesStep> next();
    /// Of files: how many steps there are. Throws InvalidArgument for a stream.
    std::size_t size() const;
    /// Of files: the step at a position. Throws InvalidArgument outside of them, and for a stream.
    SeriesStep at(std::size_t position) const;
    /// The attributes of the whole series.
    Attributes attributes() const;
    /// Leaves a stream; no further step is given.
    void close();

  private:
    void find_steps(const std::shared_ptr<const store::File>& file);
    void find_numbered(const std::string& pattern);
    static SeriesStep whole_file(std::uint64_t number, const std::string& path);

    std::string name_;
    std::unique_ptr<stage::Reader> reader_;  ///< of a stream
    std::shared_ptr<const store::File> first_;
    std::vector<std::function<SeriesStep()>> steps_;  ///< of files: opens one
    std::size_t next_ = 0;
};

}  // namespace fluvial::scan
