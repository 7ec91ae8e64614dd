// SPDX-License-Identifier: Apache-2.0
/// One thread's share of a scan: units one after the other, each read, decoded and absorbed while
/// it is in the cache.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "fluvial/scan/access_choice.hpp"
#include "fluvial/scan/fetch.hpp"
#include "fluvial/scan/partial_result.hpp"
#include "fluvial/scan/prepare.hpp"

namespace fluvial::scan {

/// The bytes of the parts in which a chunk is worked on: they stay in the second-level cache.
inline constexpr Index slab_bytes = 256 * 1024;

/// What all lanes of a rank read and none writes.
struct Work {
    const Request& request;
    const UnitGrid& grid;
    Selection selection;  ///< that the grid was made of
    bool common = true;   ///< `selection` is the one request's own, else without stride
    RankRequest own;      ///< of this rank
    std::vector<RankRequest> rank_requests;  ///< that something is read for here
    bool one_result = true;                  ///< to all ranks' requests together; else one each
    Selection covered;                       ///< of one partial result
    const std::vector<OperatorSet>& sets;
    std::vector<int> over;
    int groups = 1;
    Index buffer_bytes = 0;
    Index read_ahead_bytes = 0;
    Index window_bytes = 0;  ///< of the page cache that a lane looks at in place; 0: none
    Options::Access access = Options::Access::Chosen;
    std::size_t grid_input = 0;  ///< the input whose layout the units follow

    PartialResult new_partial_result(const RankRequest& asked) const;
};

class Lane {
  public:
    explicit Lane(const Work& work);

    /// Units [begin, end). Blocking; gives up early when `stop` becomes true. Counts every unit in
    /// `done`. Throws what reading, operators and predicates throw.
    void run(Index begin, Index end, const std::atomic<bool>& stop, std::atomic<Index>& done);

    /// One result, or one for each request; none where no element has come.
    std::vector<std::optional<PartialResult>>& partial_results() { return partial_results_; }
    const Stats& stats() const { return stats_; }

  private:
    void compute_in_slabs(const Unit& unit);
    void compute(const Unit& unit);
    bool trim(Unit& unit) const;
    std::optional<Region> inside(const RankRequest& rank_request, const Region& box) const;

    const Work& work_;
    Stats stats_;
    std::vector<std::unique_ptr<Fetch>> fetches_;  ///< one an input
    AccessChoice access_;
    Prepare prepare_;
    std::vector<std::optional<PartialResult>> partial_results_;
    std::vector<ArrayView> stored_;  ///< of the unit at hand
};

}  // namespace fluvial::scan
