// SPDX-License-Identifier: Apache-2.0
/// Memory for what is kept until the end of a step, used again by the next one: the system would
/// have to clear new pages each time, which takes as long as to write them into a file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

namespace fluvial::stage {

/// One thread at a time. Keeps what the last step took, and within a step what that one takes.
class StepMemory {
  public:
    /// `bytes` of memory, whatever is in them, until end_step().
    std::byte* take(std::size_t bytes);
    /// What was taken serves the next step; what this one has not taken is given up.
    void end_step();

  private:
    struct Free {
        void operator()(std::byte* block) const;
    };
    std::multimap<std::size_t, std::unique_ptr<std::byte, Free>> taken_,
        spare_;  ///< by their bytes
};

}  // namespace fluvial::stage
