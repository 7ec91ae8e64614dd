// SPDX-License-Identifier: Apache-2.0
/// Whether anything in a channel can still move, found out by asking all ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fluvial/progress/control_messages.hpp"

namespace fluvial::progress {

/// What one rank says of itself.
struct Movement {
    std::uint64_t moves = 0;    ///< times that something has moved here
    std::int64_t elements = 0;  ///< bytes written into links here less those that have arrived here
    std::int64_t messages = 0;  ///< ControlMessages::under_way

    bool operator==(const Movement&) const = default;
};

inline constexpr Topic topic_moved_asked("quiescence: does anything move there?",
                                         Topic::Of::Observation);
inline constexpr Topic topic_moved_told("quiescence: what has moved here", Topic::Of::Observation);

/// One rank's part. No rank is asked unless another has a reason to ask. A rank answers while it
/// does nothing but wait, and not before; so when all have answered twice, nothing has moved on any
/// of them in between, and nothing was under way, then nothing will. Source: F. Mattern,
/// "Algorithms for distributed termination detection" (doi:10.1007/BF01782776), section 6.
class Quiescence {
  public:
    /// Takes the messages of its topics.
    Quiescence(ControlMessages& control, int rank, int ranks);
    Quiescence(const Quiescence&) = delete;
    Quiescence& operator=(const Quiescence&) = delete;

    /// This rank does nothing but wait, with `mine`: answers the ranks that have asked.
    void answer(const Movement& mine);
    /// Asks all others, unless they have not all answered yet. True when it is certain that nothing
    /// moves any more. This rank does nothing but wait, with `mine`.
    bool found(const Movement& mine);

  private:
    void take(const ControlMessage& message);
    void ask();

    ControlMessages& control_;
    int rank_;
    int ranks_;
    std::vector<ControlMessage> asked_;  ///< and not answered yet
    std::uint64_t round_ = 0;            ///< 0: no rank was asked yet
    int missing_ = 0;                    ///< replies
    std::vector<Movement> told_;
    std::optional<std::vector<Movement>> before_;  ///< in the round before
};

}  // namespace fluvial::progress
