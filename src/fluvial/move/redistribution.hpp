// SPDX-License-Identifier: Apache-2.0
/// Two groups of ranks that cut the same global array in different ways, and of which one sends it
/// to the other step after step: the M×N coupling of physics modules.
///
/// | event                       | what happens                                                   |
/// |-----------------------------|----------------------------------------------------------------|
/// | it is made                  | the ranks compare what they say, tell each other their boxes,  |
/// |                             | and each computes the same transfers (distribute/              |
/// |                             | redistribute.hpp) and the same plan (route/rank_plan.hpp)      |
/// | a step, all flows direct    | one message for each two ranks; while it is on its way the     |
/// |                             | ranks agree that none of them has failed                       |
/// | a step, some flows by paths | as move::exchange, which agrees first                          |
/// | or with a checksum          |                                                                |
/// | wrong arrays on one rank    | the same error on all, and the next step works                 |
/// | a path is given up          | the step ends; from the next one on all flows go direct        |
/// | a step throws anything else | no further step                                                |
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fluvial/base/movable.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"
#include "fluvial/move/box_message.hpp"
#include "fluvial/move/multipath.hpp"
#include "fluvial/move/placement.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/route/rank_plan.hpp"
#include "fluvial/route/topology.hpp"

namespace fluvial::move {

/// What TimedOut says of a rank that does not come.
inline constexpr const char* not_all_declared =
    "not all ranks have declared what they have and want";

struct RedistributionOptions {
    route::TopologyPtr topology = nullptr;  ///< none: all flows go direct
    route::RankPlanOptions plan = {};
    ExchangeOptions how = {};
    Displaced displaced = Displaced::GoDirect;
};

/// Of one step, on one rank.
struct StepArrays {
    std::vector<HeldArray> from;
    std::vector<WantedArray> to;
};

/// Move-only; owns its communicator until close(). Calls of one that has been moved from throw
/// InvalidArgument.
///
///     Redistribution coupling(std::move(comm), {ny, nx}, DType::Float64, has, wants);
///     for (…) {
///         coupling.move(mine, wanted);
///     }
///     coupling.close();
class Redistribution {
  public:
    /// `has` and `wants` of this rank: boxes of the array of this shape, none where it is not of
    /// the group that has or wants something. A rank without either may be a proxy. No element on
    /// two ranks; several ranks may want the same one. Collective, blocking; an allgather of 16
    /// bytes an axis and box. Throws on all ranks: InvalidArgument where boxes lie outside,
    /// overlap, or want what no rank has, where ranks differ in shape, dtype, topology or options;
    /// TimedOut after `how.stall_timeout_s` where a rank does not come. Closes `comm` then.
    Redistribution(mpi::Comm comm, const Coordinates& shape, DType dtype,
                   std::span<const Region> has, std::span<const Region> wants,
                   RedistributionOptions options = {});
    ~Redistribution();
    Redistribution(Redistribution&&) noexcept;
    Redistribution& operator=(Redistribution&&) noexcept;

    /// Moves one step: `from` and `to` have an array for each box, any strides, of which no two
    /// have memory in common. Collective, blocking; a rank that waits serves. Boxes that lie
    /// together in memory at both ends are not copied. Throws on all ranks InvalidArgument for
    /// arrays of other numbers, dtypes or extents, after which what is in `to` is not known; and as
    /// move::exchange does.
    void move(std::span<const HeldArray> from, std::span<const WantedArray> to);
    /// The same, of the arrays that `prepare` returns; what it throws on one rank is thrown on all.
    void move(const std::function<StepArrays()>& prepare);

    const Coordinates& shape() const;
    DType dtype() const;
    std::span<const Region> has() const;
    std::span<const Region> wants() const;
    /// All transfers between two ranks; the same on all. Where a rank wants what it has itself,
    /// there is no flow.
    std::span<const route::RankFlow> flows() const;
    /// How much lower the load of the busiest link is than that of direct routes; 1 without a
    /// topology.
    double speed_up() const;
    /// Why all flows go direct in spite of a topology, or nothing. The same on all ranks.
    const std::string& warning() const;
    /// Collective, as Comm::close().
    void close();
    /// As Comm::abandon(): other ranks may not come to close it. Local.
    void abandon() noexcept;

  private:
    struct State;
    Movable<State> state_;
};

}  // namespace fluvial::move
