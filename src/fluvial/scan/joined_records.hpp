// SPDX-License-Identifier: Apache-2.0
/// How many records are finished in each of several files, of which the last one grows.
///
/// | a file                             | its finished records                 | it is complete     |
/// |------------------------------------|--------------------------------------|--------------------|
/// | with a mark of Fluvial             | as the mark says; of netCDF-4 none   | without the mark   |
/// | of Fluvial, without one            | all                                  | yes                |
/// | HDF5 that is open for readers      | those that are stored whole          | when it says so    |
/// | HDF5 that is open otherwise        | none                                 | when it says so    |
/// | netCDF classic of others, the last | all but the last; all when it rests  | no                 |
/// | HDF5 of others, the last one       | those that are stored, when it rests | no                 |
/// | Zarr of others, the last one       | none                                 | no                 |
/// | of others, with files behind it    | all                                  | yes                |
///
/// A file rests that has not changed for a second since it was looked at first, or was changed so
/// long ago that clocks which differ do not matter. When somebody has said that no step will come,
/// all that there is counts. python/fluvial/scan/joined_records.py does the same from Python.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "fluvial/scan/followed_series.hpp"
#include "fluvial/store/file.hpp"
#include "fluvial/store/progress_mark.hpp"

namespace fluvial::scan {

/// Opens the files one after the other, each anew where there may be more; one stays open.
class GrowingRecords {
  public:
    using FilePtr = std::shared_ptr<const store::File>;
    using Open = std::function<FilePtr(const std::string& path)>;

    /// What a file has of records.
    struct Records {
        Index finished = 0;
        bool whole = false;             ///< no more will come
        std::optional<Index> stored{};  ///< with those that may not be finished, where it is known
    };

    explicit GrowingRecords(Open open) : open_(std::move(open)) {}

    /// A file as it was opened last; null where that was another one.
    FilePtr opened(const std::string& path) const {
        return latest_ && latest_path_ == path ? latest_ : nullptr;
    }
    /// A file as it is now; null where its writer has changed it meanwhile. Throws what opening it
    /// throws.
    FilePtr open(const std::string& path);
    void forget() { latest_.reset(); }

    /// Whether the file does not change any more, as far as can be seen.
    bool rests(const std::string& path);
    /// As the table says. `check` throws where the file does not join the one before it. What is
    /// wrong with a file is thrown once it rests, as it may be half made. The last one, where it
    /// cannot be read, is waited for.
    Records records_of(const std::string& path, bool last, bool complete,
                       const std::function<void(const FilePtr&)>& check);

    /// Whether any file could be read so far.
    bool readable() const { return readable_; }
    /// Of the steps; none until a file could be read.
    const std::optional<std::string>& dimension() const { return dimension_; }
    /// The file that was looked into last, and its mark before that.
    const std::string& blocking() const { return blocking_; }
    const store::Progress& progress() const { return progress_; }
    /// Why it could not be read.
    const std::string& why() const { return why_; }
    void set_why(std::string why) { why_ = std::move(why); }

  private:
    Open open_;
    FilePtr latest_{};
    std::string latest_path_{};
    std::optional<std::pair<std::string, std::optional<Stamp>>> watched_{};
    std::int64_t rests_since_ns_ = 0;
    /// Times in a row that the writer had changed a file before it was open.
    int late_looks_ = 0;
    bool readable_ = false;
    std::optional<std::string> dimension_{};
    std::string blocking_{};
    store::Progress progress_{};
    std::string why_{};
};

}  // namespace fluvial::scan
