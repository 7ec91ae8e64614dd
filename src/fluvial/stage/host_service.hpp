// SPDX-License-Identifier: Apache-2.0
/// The thread of the writer's rank 0 that lets processes attach and looks after those that have.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handshake.hpp"

namespace fluvial::stage {

class HostService {
  public:
    /// Listens at the contact's address. `control` must outlive this object; `own_arena` is rank
    /// 0's.
    HostService(const Contact& contact, const ControlBlock& control,
                const move::MemoryFile& own_arena);
    ~HostService();
    HostService(const HostService&) = delete;
    HostService& operator=(const HostService&) = delete;

  private:
    void run();
    void serve(move::LocalSocket& socket);
    AttachReply admit_writer(const TrustedRequest& trusted);
    AttachReply admit_reader(const AttachRequest& request);

    Key key_;
    const ControlBlock& control_;
    move::LocalListener listener_;
    std::vector<int> arenas_;                 ///< by writer rank; -1 until it has attached
    std::vector<move::Descriptor> received_;  ///< keeps the other ranks' arenas open
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace fluvial::stage
