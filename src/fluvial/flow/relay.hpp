// SPDX-License-Identifier: Apache-2.0
/// A server that does not lead: it passes on, between the lead and a group of ranks, what they are
/// to do and what they report, and runs no tasks.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "fluvial/flow/members.hpp"
#include "fluvial/flow/server_messages.hpp"
#include "fluvial/flow/task_messages.hpp"

namespace fluvial::flow {

class Relay {
  public:
    /// All outlive it. `group`: the ranks that it serves. It says that it lives every `beat_s`.
    Relay(const mpi::Comm& comm, Members& members, std::vector<int> group, double beat_s);

    /// Blocking until the lead says stop; then everything has been passed on. Throws PeerLost when
    /// the lead's process dies, and what check_interrupt throws.
    void serve();
    void abandon() { messages_.abandon(); }
    /// Some rank of the pool was lost, as the lead said when it stopped.
    bool any_lost() const { return any_lost_; }

  private:
    class Waits;

    bool work();
    bool pass_on_orders();
    bool take_own_orders();
    bool gather_reports();
    void tell_of_lost();
    void send();

    const mpi::Comm& comm_;
    Members& members_;
    std::vector<int> group_;
    std::int64_t beat_ns_;
    TaskMessages messages_;
    Parcel parcel_;  ///< for the lead
    std::set<int> lost_;
    std::int64_t sent_ns_ = 0;
    bool stopped_ = false;
    bool any_lost_ = false;
};

}  // namespace fluvial::flow
