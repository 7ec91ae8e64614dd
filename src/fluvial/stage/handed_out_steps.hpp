// SPDX-License-Identifier: Apache-2.0
/// The steps that one reader elsewhere has been given, and their places in the queue.
///
/// A place goes back when the reader has finished with its step. Where all data of a step goes
/// along with its message, it goes back once that is sent: the reader has it as good as in its
/// hands. But in their order: that a reader has finished so many steps (ReaderCell::steps_finished)
/// means the first so many.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "fluvial/stage/step_messages.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {

class HandedOutSteps {
  public:
    struct Step {
        std::optional<Taken> taken;     ///< none once its place in the queue is free
        StepMessages::Message message;  ///< should it be lost on its way
        std::uint64_t number = 0;       ///< of steps that were sent
    };

    Step& add(std::uint64_t step, const Taken& taken);
    /// One that the reader says to have. It has no place, unless it was added before.
    Step& known(std::uint64_t step) { return steps_[step]; }
    /// The place of a step is needed until so many raw bytes are sent, as SecureConnection counts.
    void goes_complete(std::uint64_t step, std::uint64_t raw_posted) {
        complete_.push_back({step, raw_posted});
    }
    /// So many are sent. True where places can be given back for it.
    bool note_sent(std::uint64_t raw_sent);
    /// The reader looks at it no more. Throws Error when it does not have it.
    void finish(std::uint64_t step);
    /// What is to be fetched for one of the steps. Throws PeerLost when it is of none.
    std::shared_ptr<const Bytes> common_at(const CommonAt& at) const;
    /// There are places to be given back.
    bool any_spent() const { return !spent_.empty(); }
    /// Gives them back, with the control lock, as those of the reader in that cell.
    void let_go(const ControlBlock& control, int cell);
    /// Those that the reader has not said to be finished with.
    const std::map<std::uint64_t, Step>& steps() const { return steps_; }

  private:
    struct Complete {
        std::uint64_t step;
        std::uint64_t raw_posted;
    };
    void spend(std::uint64_t step, Step& handed_out);

    std::map<std::uint64_t, Step> steps_;
    std::set<std::uint64_t> held_;  ///< of these, whose places are needed
    std::deque<Complete> complete_;
    std::vector<Taken> spent_;
};

}  // namespace fluvial::stage
