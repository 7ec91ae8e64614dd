// SPDX-License-Identifier: Apache-2.0
/// The steps that files have, as they are when this is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/scan/series_step.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/file_names.hpp"

namespace fluvial::scan {

/// | what is opened              | its steps                                                    |
/// |-----------------------------|--------------------------------------------------------------|
/// | a file of openPMD           | its iterations                                               |
/// | numbered files, "data%T.h5" | a file each, opened with its step                            |
/// | any other file              | the records of its unlimited dimension, or of the one whose  |
/// |                             | coordinate is time; else one step with all that there is     |
/// | several other files         | the records along the dimension by which they are joined     |
class StoredSteps {
  public:
    /// `unnamed`: of files whose axes have no names, unlimited first ones are those of the steps.
    /// Local. Throws what store::open_file, store::numbered_files and store::FileNames::paths
    /// throw, and InvalidArgument for several files of openPMD, which are not joined.
    explicit StoredSteps(const store::FileNames& names, bool unnamed = false);

    std::size_t size() const { return steps_.size(); }
    /// The number of the step, the iteration or the record, or that in the file's name; ascending.
    const std::vector<std::uint64_t>& numbers() const { return numbers_; }
    SeriesStep open(std::size_t position) const { return steps_[position](); }
    /// The only file, or the first one.
    const store::File& first() const;
    /// All that have the steps; of numbered files, the first one.
    const std::shared_ptr<const JoinedFiles>& files() const { return files_; }
    /// Whether each step has a file of its own.
    bool numbered() const { return numbered_; }

  private:
    void find_records();
    void find_iterations();
    void find_numbered(const std::string& pattern);
    static SeriesStep whole_file(std::uint64_t number, const std::string& path, bool unnamed);
    void add(std::uint64_t number, std::function<SeriesStep()> open);

    bool unnamed_, numbered_ = false;
    std::shared_ptr<const JoinedFiles> files_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::function<SeriesStep()>> steps_;
};

}  // namespace fluvial::scan
