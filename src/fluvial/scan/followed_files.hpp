// SPDX-License-Identifier: Apache-2.0
/// One file that is still being written, or a file for each step, "data%T.h5".
///
/// Files are opened anew where there may be more in them. What the writer leaves beside them
/// (store/progress_mark.hpp) says which steps are finished, and that no more will come. Files of
/// other programs have no such mark: of numbered ones, the last is left alone until it has not
/// changed for a second; HDF5 of version 3 says itself whether its writer has closed it, or lets
/// others read meanwhile (SWMR): then it has as many steps as there are whole records of all
/// datasets that grow. python/fluvial/scan/followed_files.py does the same from Python.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/scan/followed_series.hpp"
#include "fluvial/scan/stored_steps.hpp"
#include "fluvial/store/progress_mark.hpp"

namespace fluvial::scan {

class FollowedFiles final : public FollowedSeries {
  public:
    /// Collective. `open`: the steps that the files have now.
    FollowedFiles(std::string name, const mpi::Comm& comm, std::function<StoredSteps()> open,
                  Limits limits);
    Attributes attributes() const override;

  protected:
    bool readable() const override { return latest_.has_value(); }
    bool changed() override;
    std::optional<Found> finished_after(std::optional<std::uint64_t> last, bool complete) override;
    bool is_complete() const override;
    void check_writer() const override;
    SeriesStep step(const Found& found) override;
    void forget() override { latest_.reset(); }

  private:
    /// The file that could have changed, and how it is.
    using Fingerprint = std::optional<std::pair<std::string, Stamp>>;

    std::optional<SeriesStep> open_step(std::uint64_t number);
    std::vector<std::uint64_t> finished_now() const;
    bool open_whole(bool complete);
    bool open_if_whole(bool complete);
    bool exists() const;
    Fingerprint fingerprint() const;
    bool settled() const;

    std::function<StoredSteps()> open_;
    bool numbered_;
    std::optional<StoredSteps> latest_{};
    store::Progress opened_at_{};  ///< how far the writer was when `latest_` was opened
    /// How far the writer was, and how the file was, when changed() looked.
    std::optional<std::pair<store::Progress, Fingerprint>> state_{};
    /// Times in a row that the writer had changed the files before they were open.
    int late_looks_ = 0;
    bool seen_writing_ = false;
};

}  // namespace fluvial::scan
