// SPDX-License-Identifier: Apache-2.0
/// The end of a stream on the consumers: partial results go up a binomial tree by control messages,
/// in the order of ranks, and the global result comes down. No rank blocks, so consumers may reach
/// their end while they do something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "fluvial/progress/control_messages.hpp"
#include "fluvial/stream/operation.hpp"
#include "fluvial/stream/outcome.hpp"

namespace fluvial::stream {
/// Up the tree of consumers: the sender and all below have ended, with what they have merged.
inline constexpr progress::Topic topic_done("ending: done");
/// Down the tree of consumers: all have ended, with the result.
inline constexpr progress::Topic topic_finish("ending: finish");

/// The tree depends on the number of consumers alone, so results are reproducible to the bit for
/// that number, as far as partials are. Source of the tree: mpi/tree_merge.hpp.
class Ending {
  public:
    /// `consumers` are ranks of the channel; this rank is number `index` among them.
    Ending(progress::ControlMessages& control, int stream, std::vector<int> consumers, int index);

    /// This consumer has processed its last element. `operation` may be null.
    void begin(const Operation* operation, std::uint64_t elements);
    bool begun() const { return begun_; }
    /// Messages of the topics above.
    void take(const progress::ControlMessage& message);
    /// Merges and passes on what has come; true when something moved.
    bool advance(const Operation* operation);
    const std::optional<Outcome>& outcome() const { return outcome_; }

  private:
    std::vector<int> children() const;
    void finish(Outcome outcome);

    progress::ControlMessages& control_;
    int stream_;
    std::vector<int> consumers_;
    int index_;
    bool begun_ = false;
    bool advancing_ = false;  ///< further up the stack: a function of the operation waits
    bool sent_ = false;
    Outcome mine_;
    std::map<int, Outcome> of_children_;  ///< by number of the consumer
    std::optional<Outcome> outcome_;
};

}  // namespace fluvial::stream
