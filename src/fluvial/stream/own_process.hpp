// SPDX-License-Identifier: Apache-2.0
/// What a child by fork() has of its parent's channels: nothing that works.
#pragma once

namespace fluvial::stream {

struct ChannelState;

/// Member of a ChannelState that a shared_ptr owns. In a child MPI is of no use, the threads of the
/// parent are not there, and shared memory is the parent's. So the child's copy of the state is
/// marked as such, elements no longer go straight into links, and it is never destroyed.
class OwnProcess {
  public:
    explicit OwnProcess(ChannelState& state);
    ~OwnProcess();
    OwnProcess(const OwnProcess&) = delete;
    OwnProcess& operator=(const OwnProcess&) = delete;

    /// The channel was opened by a parent of this process.
    bool is_copy() const { return copy_; }

  private:
    static void after_fork();

    ChannelState& state_;
    bool copy_ = false;
};

}  // namespace fluvial::stream
