// SPDX-License-Identifier: Apache-2.0
/// What a child by fork() has of its parent's channels: nothing that works.
#pragma once

#include <memory>

#include "fluvial/base/fork.hpp"

namespace fluvial::stream {

struct ChannelState;

/// Member of a ChannelState that a shared_ptr owns. In a child MPI is of no use, the threads of the
/// parent are not there, and shared memory is the parent's. So the child's copy of the state is
/// marked as such, elements no longer go straight into links, and it is never destroyed.
class OwnProcess {
  public:
    explicit OwnProcess(ChannelState& state)
        : state_(state), in_child_([this] { become_copy(); }) {}
    OwnProcess(const OwnProcess&) = delete;
    OwnProcess& operator=(const OwnProcess&) = delete;

    /// The channel was opened by a parent of this process.
    bool is_copy() const { return made_.inherited(); }
    /// Throws InvalidArgument in a child.
    void check() const { made_.check("the channel"); }

  private:
    void become_copy();

    ChannelState& state_;
    MadeHere made_;
    std::shared_ptr<ChannelState> kept_;  ///< in a child: itself, for ever
    ForkHook in_child_;
};

}  // namespace fluvial::stream
