// SPDX-License-Identifier: Apache-2.0
/// Messages between the ranks of a pool.
#pragma once

#include <deque>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::flow {

/// Order is kept between each two ranks and tag. Everything is local. One thread at a time.
class TaskMessages {
  public:
    /// `comm` outlives it.
    explicit TaskMessages(const mpi::Comm& comm) : comm_(&comm) {}

    struct Message {
        int from = 0;
        Bytes bytes;
    };

    /// Leaves at once.
    void post(int to, int tag, Bytes bytes);
    /// The same, without a copy.
    void post(int to, int tag, const std::shared_ptr<const Bytes>& bytes) {
        post(to, tag, *bytes, bytes);
    }
    /// A part of what `kept` has.
    void post(int to, int tag, std::span<const std::byte> part,
              const std::shared_ptr<const Bytes>& kept);
    /// The next message with the tag that is complete. A call of MPI that fails is an error only
    /// when no rank has been given up on five seconds later: it is what a dead rank had sent.
    std::optional<Message> poll(int tag);
    /// What was posted to the rank is forgotten: it takes nothing more.
    void forget(int rank);
    /// The rank is lost: so is what it has not sent whole.
    void give_up_on(int rank);
    /// MPI has everything that was posted. Errors as in poll().
    bool sent();
    /// Gives up on everything: a rank is lost.
    void abandon();

  private:
    struct Arriving {
        int tag = 0;
        mpi::Incoming incoming;
        bool broken = false;  ///< will not be complete, of a rank to be given up on
    };

    const mpi::Comm* comm_;
    struct Posted {
        int to = 0;
        mpi::Request request;
    };

    struct Trouble {
        std::exception_ptr error;
        Deadline deadline;
    };

    void keep(int to, mpi::Request request);
    bool is_whole(Arriving& arriving);
    bool has_left(mpi::Request& request);
    void note_trouble(bool excused);
    void check_trouble() const;

    std::list<Posted> posted_;
    std::list<Arriving> arriving_;  ///< in the order in which they were matched
    std::set<int> lost_;
    std::optional<Trouble> trouble_;
};

}  // namespace fluvial::flow
