// SPDX-License-Identifier: Apache-2.0
/// Helper ranks: they do nothing but pass on what others exchange.
///
// clang-format off
/// | event                         | other ranks                        | helpers                |
/// |-------------------------------|------------------------------------|------------------------|
/// | an exchange begins            | agree among themselves             | sleep in serve()       |
/// | they have agreed              | the first one sends all the flows  | learn which rank sends |
/// |                               |                                    | what to which          |
/// | one of them is wrong          | the same error on all of them      | hear nothing of it     |
/// | one dies, or is stopped, and  | as in exchange_over_kept()         | PeerLost, or TimedOut  |
/// | they have not agreed          |                                    |                        |
/// | any rank dies, or is stopped, | PeerLost, PeerStalled, or TimedOut | as on the other ranks  |
/// | later on                      | where another saw it first         |                        |
/// | a helper does not come        | TimedOut, after stall_timeout_s    |                        |
/// | the data moves                | as move::exchange                  | are proxies            |
/// | a path was given up           | all go on with another communicator, without old messages  ||
/// | they release                  | the first one says so              | serve() returns        |
/// | nothing moves in time         | TimedOut; they tell the helpers    | TimedOut               |
/// | this ends on one rank without | TimedOut in the exchange under way | TimedOut               |
/// | release(), or by an error     | or the next one                    |                        |
// clang-format on
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fluvial/move/planned_exchange.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::move {

/// Move-only; owns its communicator until release() or the end of serve(). The others are told
/// where it goes before that.
class HelperRanks {
  public:
    /// `helps` on the ranks that are to help; one or more do not. Collective, blocking: two splits,
    /// an allgather of the names of machines, and a RankWatch of the others and one of all. Throws
    /// InvalidArgument on all ranks where all help.
    HelperRanks(mpi::Comm comm, bool helps);
    ~HelperRanks();
    HelperRanks(HelperRanks&&) noexcept;
    HelperRanks& operator=(HelperRanks&&) noexcept;

    bool helps() const;
    std::span<const int> helpers() const;  ///< their ranks

    /// On helpers alone: passes on what the others exchange, until they release. Blocking; the rank
    /// sleeps while there is nothing to do, and serves no streams. How many exchanges there were.
    /// Throws as move::exchange does, and TimedOut where another rank has given up.
    std::uint64_t serve();
    /// On the other ranks alone: as move::exchange, whose ranks are those of the communicator. On a
    /// host that has helpers the first of them is the proxy; flows begin and end at the first rank
    /// that does not help. Collective among the others, blocking.
    Exchanged exchange(const std::function<PlannedCall()>& prepare);
    /// On the other ranks alone: ends serve() on the helpers. Collective with them, blocking. A
    /// second call does nothing.
    void release();
    /// On any rank, for one that leaves by an error: the others are told, and do not wait for it.
    /// Nothing where they were released. Local.
    void abandon() noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace fluvial::move
