// SPDX-License-Identifier: Apache-2.0
/// Several files that are still being written, joined along the axis of their records: "t_*.nc".
///
/// They are taken in the order of their names, and their records are the steps, numbered through;
/// joined_records.hpp says how many of a file are finished. The first rank remembers the files of
/// which it gave steps: they must stay, and all that come later must be sorted behind them. A step
/// lies in one file, which the other ranks open, too, joined with the first one, as which it counts
/// times. python/fluvial/scan/followed_joined.py does the same from Python.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/scan/followed_series.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/joined_records.hpp"

namespace fluvial::scan {

class FollowedJoined final : public FollowedSeries {
  public:
    /// Collective. `open` opens one of the files that the pattern finds.
    FollowedJoined(const std::string& pattern, const mpi::Comm& comm, GrowingRecords::Open open,
                   Limits limits);
    Attributes attributes() const override;

  protected:
    bool readable() const override { return growing_.readable(); }
    bool changed() override;
    std::optional<Found> finished_after(std::optional<std::uint64_t> last, bool complete) override;
    /// Another file may always come.
    bool is_complete() const override { return false; }
    void check_writer() const override;
    std::string why() const override;
    SeriesStep step(const Found& found) override;
    void forget() override;

  private:
    using FilePtr = GrowingRecords::FilePtr;
    using Paths = std::vector<std::string>;

    /// The steps that are known to be finished in one file.
    struct Next {
        std::uint64_t begin = 0, end = 0;
        std::string path{};
    };
    /// What differs when there may be more in the files.
    struct State {
        Paths paths;
        std::vector<std::optional<Stamp>> stamps;
        bool rests = false;
        store::Progress progress{};
        friend bool operator==(const State&, const State&) = default;
    };

    Paths listed() const;
    [[noreturn]] static void throw_early(const std::string& early, const std::string& given);
    Found found_in(const Next& next, std::uint64_t number) const;
    GrowingRecords::Records records_of(const Paths& paths, std::size_t at, bool complete);
    void check_joins(const std::string& before, const FilePtr& file);
    FilePtr opened_with(const Found& found);
    std::shared_ptr<const JoinedFiles> joined(const Found& found, const FilePtr& file);

    GrowingRecords::Open open_;
    GrowingRecords growing_;
    Paths given_{};  ///< the files of which steps were given, or that have none; in their order
    /// How many records files have that are complete, and how they looked then.
    std::map<std::string, std::pair<std::optional<Stamp>, Index>> whole_{};
    std::set<std::string> joins_{};  ///< those that are known to join those before them
    std::optional<Next> next_{};
    std::optional<State> state_{};
    FilePtr first_{}, current_{};                 ///< of `steps_`
    std::shared_ptr<const JoinedFiles> steps_{};  ///< the file of the latest step, and the first
};

}  // namespace fluvial::scan
