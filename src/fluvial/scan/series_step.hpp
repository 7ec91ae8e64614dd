// SPDX-License-Identifier: Apache-2.0
/// One step of a series, whether it came from a stream or lies in files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/scan/variable.hpp"
#include "fluvial/store/file.hpp"

namespace fluvial::scan {

class JoinedFiles;

/// One step. Of a stream usable until the next one is asked for, of files for as long as it exists.
class SeriesStep {
  public:
    /// The number of the step, the iteration or the record, or that in the file's name.
    std::uint64_t index() const { return index_; }
    /// The attributes of the step or iteration, or of the file where that is the step. Of a record
    /// its time, where that is a number, with its units as `timeUnits`, `timeCalendar` and
    /// `timeUnitSI`, and the numbers that the writer of its file gave as attributes of the step;
    /// these are read when they are asked for first, local and blocking. Throws DamagedFile,
    /// SystemError.
    const Attributes& attributes() const;
    /// Paths of the groups that datasets are in: species, records, all meshes. Of files those that
    /// there are, of a stream those of the names of datasets, and others that its writer speaks of.
    std::vector<std::string> groups() const;
    /// What is said of one of them; of a stream what its writer says of groups. A record of one
    /// component is a dataset, whose own attributes are among them. Throws UnknownName where there
    /// is none of this path, DamagedFile.
    Attributes group_attributes(const std::string& path) const;
    const std::vector<std::string>& names() const;
    bool has(const std::string& name) const;
    /// The dataset as scans take it (scan.hpp). Of a record this has the axis of time, too; of
    /// several files it is that of the file that has the record. Throws InvalidArgument that lists
    /// the names when there is none of this name, and where no file alone has it.
    DatasetPtr dataset(const std::string& name) const;
    /// The same to be selected and reduced. Of a record, the axis of time has a length of 1.
    Variable variable(const std::string& name) const;
    /// The axis of time of that, which read() and shape() leave away; none where they do not.
    std::optional<int> axis_of_record(const std::string& name) const;
    /// All of a dataset's elements, stored values in native byte order; of a record without the
    /// axis of time. Local, blocking.
    compute::Array read(const std::string& name) const;
    /// Of what read() gives; of a record without the axis of time.
    Coordinates shape(const std::string& name) const;
    /// A region of that, into an array of its extent and of the dataset's dtype. Local, blocking.
    /// Throws InvalidArgument for a region outside of the shape.
    void read(const std::string& name, const Region& region, const MutableArrayView& to) const;

    /// A dimension of the files, and the place along it that is this step.
    struct Record {
        std::string dimension;
        Index at = 0;
    };

  private:
    friend class Series;
    friend class StoredSteps;
    friend class FollowedJoined;
    SeriesStep(std::uint64_t index, std::shared_ptr<const JoinedFiles> files,
               std::optional<Record> record = {});
    /// Of one file.
    SeriesStep(std::uint64_t index, std::shared_ptr<const store::File> file,
               std::optional<Record> record = {});
    std::optional<int> axis_of_record(const store::Dataset& dataset) const;

    struct OfRecord {
        std::once_flag once{};
        Attributes attributes{};
    };

    std::uint64_t index_;
    std::shared_ptr<const JoinedFiles> files_;
    std::optional<Record> record_;
    std::shared_ptr<OfRecord> of_record_;  ///< of copies, too; null where there is no record
};

}  // namespace fluvial::scan
