// SPDX-License-Identifier: Apache-2.0
/// Which teams keep their communicators: pure. The server of a pool decides it for all ranks.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <vector>

namespace fluvial::flow {

/// Numbers of teams begin with 1 and are never used twice.
using TeamNumber = std::uint32_t;

/// MPI has few communicators: aligned blocks of a power of two ranks are kept for ever, because a
/// rank is in no more than log2(ranks) + 1 of them; of others each rank keeps the `others_max` that
/// it used last. Making and freeing are in one order for all ranks: that of the calls of use().
class TeamCache {
  public:
    struct Gone {
        TeamNumber team = 0;
        std::vector<int> ranks;  ///< each of which frees it
    };
    struct Use {
        TeamNumber team = 0;
        bool is_new = false;
        std::vector<Gone> gone;  ///< to be freed before
    };

    explicit TeamCache(int ranks, int others_max = 32)
        : others_max_(others_max), others_(static_cast<std::size_t>(ranks)) {}

    /// A task runs on these ranks, ascending.
    Use use(const std::vector<int>& ranks);
    /// Communicators that a rank has now.
    std::size_t kept_by(int rank) const;

  private:
    struct Kept {
        TeamNumber number = 0;
        bool is_block = false;
        std::list<std::vector<int>>::iterator age;  ///< of teams that are no block
    };

    void make_room(int rank, std::vector<Gone>& gone);

    int others_max_;
    std::vector<int> others_;  ///< teams that are no block, kept by each rank
    std::map<std::vector<int>, Kept> teams_;
    std::list<std::vector<int>> ages_;  ///< the last used in front
    TeamNumber last_ = 0;
};

}  // namespace fluvial::flow
