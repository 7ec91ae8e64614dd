// SPDX-License-Identifier: Apache-2.0
/// A rank of a pool that runs tasks.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "fluvial/flow/crew.hpp"
#include "fluvial/flow/mailbox.hpp"
#include "fluvial/flow/members.hpp"
#include "fluvial/flow/messages.hpp"

namespace fluvial::flow {

class Worker {
  public:
    /// All outlive it. `lead` is the server's rank.
    Worker(const mpi::Comm& comm, Crew& crew, Members& members, int lead)
        : comm_(comm), crew_(crew), members_(members), lead_(lead), mailbox_(comm) {}

    /// Blocking until the server says stop; then everything has been sent. Throws PeerLost when the
    /// server's process dies, and what check_interrupt throws.
    void serve();
    void abandon() { mailbox_.abandon(); }
    /// Some rank of the pool was lost, as the server said when it stopped.
    bool any_lost() const { return any_lost_; }

  private:
    class Waits;
    struct Note {
        int from = 0;
        Report report;
    };

    bool take_orders();
    bool take_notes();
    void carry_out(Order order);
    void run(const Order& order);
    void gather_notes(Report& done, const std::vector<int>& team);
    void report(Report report);
    void flush();
    bool work();

    const mpi::Comm& comm_;
    Crew& crew_;
    Members& members_;
    int lead_;
    Mailbox mailbox_;
    std::deque<Order> orders_;
    ByteWriter reports_;  ///< that have not left yet
    std::int64_t first_report_ns_ = 0;
    std::uint32_t last_function_ = 0;
    double last_took_s_ = 0;
    std::map<TaskId, std::vector<Note>> notes_;
    std::set<int> lost_;     ///< ranks
    bool stopping_ = false;  ///< the order to stop has come
    bool stopped_ = false;
    bool any_lost_ = false;
};

}  // namespace fluvial::flow
