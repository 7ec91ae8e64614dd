// SPDX-License-Identifier: Apache-2.0
/// Files that are still being written: their steps are given as they are finished.
///
/// Files are opened anew where there may be more in them. What the writer leaves beside them
/// (store/progress_mark.hpp) says which steps are finished, and that no more will come. Files of
/// other programs have no such mark: of numbered ones, the last is left alone until it has not
/// changed for a second; HDF5 of version 3 says itself whether its writer has closed it, or lets
/// others read meanwhile (SWMR): then it has as many steps as there are whole records of all
/// datasets that grow. python/fluvial/scan/followed_files.py does the same from Python.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/scan/series_step.hpp"
#include "fluvial/scan/stored_steps.hpp"
#include "fluvial/store/progress_mark.hpp"

namespace fluvial::scan {

/// One thread at a time. The first rank looks; the others open what it has found.
class FollowedFiles {
  public:
    /// What it waits for, at most.
    struct Limits {
        double first_s;     ///< for the files to be there
        double next_s;      ///< for another step
        double stall_s;     ///< for a rank that is stopped, or whose host is cut off
        std::string until;  ///< a file that is made when no step will come; empty: none
    };

    /// Collective. `open`: the steps that the files have now.
    FollowedFiles(std::string name, const mpi::Comm& comm, std::function<StoredSteps()> open,
                  Limits limits);
    FollowedFiles(const FollowedFiles&) = delete;
    FollowedFiles& operator=(const FollowedFiles&) = delete;
    ~FollowedFiles();

    /// The next step, once it is finished; none at the end. Collective, blocking. Throws on every
    /// rank TimedOut (no step came, and nothing says that none will), PeerLost (the writer is gone,
    /// and all that it has finished was given; or a rank is), PeerStalled (a rank is stopped), and
    /// what opening the files throws.
    std::optional<SeriesStep> next(std::optional<double> timeout_s);
    /// Of the (first) file, as the step that was given last found it. Local.
    Attributes attributes() const;
    /// Collective; idempotent.
    void close();

  private:
    /// Name, time of change and size of what could have changed.
    struct Fingerprint {
        std::string path;
        std::filesystem::file_time_type changed;
        std::uintmax_t bytes = 0;
        friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
    };

    std::optional<std::uint64_t> wait_for_step(std::optional<double> timeout_s);
    SeriesStep step(std::uint64_t number);
    std::optional<SeriesStep> open_step(std::uint64_t number);
    std::optional<std::uint64_t> finished_after(bool complete);
    std::vector<std::uint64_t> finished_now() const;
    bool open_whole(bool complete);
    bool open_if_whole(bool complete);
    bool is_complete(const store::Progress& progress) const;
    bool exists() const;
    std::optional<Fingerprint> fingerprint() const;
    bool settled() const;
    [[noreturn]] void throw_late(double limit_s) const;

    std::string name_;
    mpi::Comm comm_;
    std::function<StoredSteps()> open_;
    Limits limits_;
    move::WatchedTask watch_;
    bool numbered_;
    std::optional<StoredSteps> latest_;
    store::Progress opened_at_{};  ///< how far the writer was when `latest_` was opened
    /// Times in a row that the writer had changed the files before they were open.
    int late_looks_ = 0;
    bool seen_writing_ = false;
    std::optional<std::uint64_t> last_{};  ///< the number of the step that was given last
    bool closed_ = false, ended_ = false;
};

}  // namespace fluvial::scan
