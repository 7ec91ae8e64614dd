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

namespace fluvial::scan {

/// | what is opened              | its steps                                                    |
/// |-----------------------------|--------------------------------------------------------------|
/// | a file of openPMD           | its iterations                                               |
/// | numbered files, "data%T.h5" | a file each, opened with its step                            |
/// | any other file              | the records of its unlimited dimension, or of the one whose  |
/// |                             | coordinate is time; else one step with all that there is     |
class StoredSteps {
  public:
    /// `unnamed`: of files whose axes have no names, unlimited first ones are those of the steps.
    /// Local. Throws what store::open_file and store::numbered_files throw.
    explicit StoredSteps(const std::string& name, bool unnamed = false);

    std::size_t size() const { return steps_.size(); }
    /// The number of the step, the iteration or the record, or that in the file's name; ascending.
    const std::vector<std::uint64_t>& numbers() const { return numbers_; }
    SeriesStep open(std::size_t position) const { return steps_[position](); }
    /// The only file, or the first one.
    const store::File& first() const { return *first_; }

  private:
    void find_in(const std::shared_ptr<const store::File>& file);
    void find_numbered(const std::string& pattern);
    static SeriesStep whole_file(std::uint64_t number, const std::string& path, bool unnamed);
    void add(std::uint64_t number, std::function<SeriesStep()> open);

    bool unnamed_;
    std::shared_ptr<const store::File> first_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::function<SeriesStep()>> steps_;
};

}  // namespace fluvial::scan
