// SPDX-License-Identifier: Apache-2.0
/// The thread of the writer's rank 0 that lets processes attach and looks after attached ones.
///
/// Any process on the host may connect, so it waits for no single client: all clients are served
/// side by side, each as far as it has come. A client of another user is refused at once; one that
/// has not proven to know the key has a deadline, and makes room for others when there are many.
#pragma once

#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include "fluvial/host/event.hpp"
#include "fluvial/stage/contact.hpp"
#include "fluvial/stage/control_block.hpp"
#include "fluvial/stage/handshake.hpp"

namespace fluvial::stage {

class HostService {
  public:
    /// Listens at the contact's address. `control` must outlive this object, and so must `log`, of
    /// a stream that has steps on a disk, and `bell`, which writer ranks ring when a step is
    /// complete, for the threads that serve other hosts; `own_arena` is rank 0's.
    HostService(const Contact& contact, const ControlBlock& control,
                const host::MemoryFile& own_arena, const StepLog* log = nullptr,
                const host::Event* bell = nullptr);
    ~HostService();
    /// Maps the arenas of all writer ranks, once they have attached.
    std::vector<host::Mapping> map_arenas() const;
    HostService(const HostService&) = delete;
    HostService& operator=(const HostService&) = delete;

  private:
    void run();
    bool room_for_more() const;
    void wait() const;
    void let_in();
    bool let_one_in();
    void explain_shortage(const std::string& why);
    void serve(Applicant& applicant);
    void serve_all();
    bool make_room();
    void look_after_members();
    AttachReply admit_writer(TrustedRequest& trusted);
    AttachReply admit_to_memory(const AttachRequest& request);

    Key key_;
    const ControlBlock& control_;
    const StepLog* log_;
    const host::Event* bell_;
    host::LocalListener listener_;
    std::list<Applicant> applicants_;         ///< in the order in which they came
    std::vector<int> arenas_;                 ///< by writer rank; -1 until it has attached
    std::vector<host::Descriptor> received_;  ///< keeps the other ranks' arenas open
    std::int64_t accept_again_ns_ = 0;        ///< after a lack of descriptors
    std::int64_t looked_ns_ = 0;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

}  // namespace fluvial::stage
