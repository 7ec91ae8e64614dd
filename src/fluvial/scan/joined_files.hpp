// SPDX-License-Identifier: Apache-2.0
/// One file, or several of one kind as one: joined along the axis of their records, before anything
/// is selected. What is read of them stays as it was when it was read first.
///
/// A scan of joined datasets is one scan (request.hpp): its units are those of all files, and the
/// ranks share them. python/fluvial/store/joined_files.py does the same from Python.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/scan/request.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/file_names.hpp"

namespace fluvial::scan {

/// Any number of threads may use it.
class JoinedFiles {
  public:
    using FilePtr = std::shared_ptr<const store::File>;
    using Parts = std::vector<DatasetPtr>;

    /// Opens all of them. Local. Throws what store::FileNames::paths and store::open_file throw,
    /// and InvalidArgument where a file is still being written (File::grows) and not the last.
    explicit JoinedFiles(const store::FileNames& names);
    /// Not empty. Throws such InvalidArgument, too.
    explicit JoinedFiles(std::vector<FilePtr> files);
    explicit JoinedFiles(FilePtr file) : JoinedFiles(std::vector{std::move(file)}) {}
    JoinedFiles(const JoinedFiles&) = delete;
    JoinedFiles& operator=(const JoinedFiles&) = delete;

    const std::vector<FilePtr>& files() const { return files_; }
    const store::File& first() const { return *files_.front(); }
    /// Along which several files are one: their unlimited dimension, or where there is none the
    /// first one of the dataset with the most; "" where that has no name. As the files call it,
    /// with its group. None of a single file, and of files without dimensions.
    const std::optional<std::string>& dimension() const { return dimension_; }
    /// A dataset of each file where it begins with that dimension; else that of the first file
    /// alone. Their dtypes may differ: as coordinates all are float64. Local. Throws what
    /// File::dataset throws, and InvalidArgument when the files do not fit: in shape, or in the
    /// names of the axes behind the first.
    const Parts& parts_of(const std::string& name) const;
    /// The values of a 1-D dataset of all files, as joined_values() has them. Local, blocking.
    /// Throws InvalidArgument for units that do not fit, and for a dataset that is not joined and
    /// has other values in another file.
    const std::vector<double>& values_of(const std::string& name) const;
    /// A sentence about the first file that does not begin behind the one before it, by a
    /// coordinate along the joined dimension, if records from `begin` to `end` lie in both. Empty
    /// where there is none, and for coordinates that are no times: names and numbers of stations
    /// need not ascend.
    std::string out_of_order(const std::string& coordinate, Index begin, Index end) const;

  private:
    Parts find_parts(const std::string& name) const;
    std::vector<double> read_values(const std::string& name) const;

    std::vector<FilePtr> files_;
    std::optional<std::string> dimension_;
    mutable std::mutex mutex_;  ///< of what was found
    mutable std::map<std::string, Parts> parts_;
    mutable std::map<std::string, std::vector<double>> values_;
};

}  // namespace fluvial::scan
