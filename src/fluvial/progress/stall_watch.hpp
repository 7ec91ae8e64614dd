// SPDX-License-Identifier: Apache-2.0
/// Which ranks' heartbeats have stopped, as seen by one rank: pure, without a clock.
///
/// Silence is counted in the observer's own heartbeats. While the observer itself is stopped (the
/// whole job by Ctrl-Z, a laptop that sleeps, a virtual machine that is saved) its beats stop too,
/// and no rank's silence grows; on a host that is too busy to run any thread in time, all are late
/// alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fluvial::progress {

class StallWatch {
  public:
    struct Silent {
        std::size_t number = 0;   ///< of the rank that is watched
        std::uint64_t beats = 0;  ///< of the observer since that rank's last
    };

    /// A silence of more than `beats_max` of the observer's own beats is a stall.
    StallWatch(std::size_t others, std::uint64_t beats_max)
        : beats_max_(beats_max), seen_(others) {}

    /// `own` and `others`: how often each has beaten. The first one that has stalled. A peer that
    /// was not looked at for long is judged by the difference to the last look alone: when it has
    /// beaten since then it is well.
    std::optional<Silent> look(std::uint64_t own, std::span<const std::uint64_t> others) {
        std::optional<Silent> found;
        for (std::size_t i = 0; i < seen_.size(); ++i) {
            Seen& seen = seen_[i];
            if (!seen.ever || seen.beats != others[i]) {
                seen = {others[i], own, true};
            }
            const std::uint64_t silent = own - seen.own;
            if (!found && silent > beats_max_) {
                found = Silent{i, silent};
            }
        }
        return found;
    }

  private:
    struct Seen {
        std::uint64_t beats = 0;
        std::uint64_t own = 0;  ///< the observer's beats when they had changed last
        bool ever = false;
    };

    std::uint64_t beats_max_;
    std::vector<Seen> seen_;
};

}  // namespace fluvial::progress
