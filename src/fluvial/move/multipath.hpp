// SPDX-License-Identifier: Apache-2.0
/// Moves flows along several paths at once: ranks send windows of the data to proxies, which pass
/// them on (Bui et al. 2016, sections 4.2 and 4.5).
///
/// A window travels as one message, behind a header that says where it belongs, and to which
/// exchange:
/// | rank        | finds                          | what it does |
/// |-------------|--------------------------------|---------------------------------------------|
/// | source      | a path with fewer than 2       | sends the next window along it, so a path |
/// |             | windows on their way           | that is twice as fast carries twice as much; |
/// |             |                                | how long it is: path_pace.hpp |
/// | source      | all windows are handed out     | sends an empty window along each path |
/// | source      | a path by way of a proxy that  | asks the destination how many of its windows |
/// |             | has stood still for too long   | have come |
/// | source      | a reply: the path has not      | gives the path up, tells its proxies, and |
/// |             | ended                          | sends what has not come once more, direct |
/// | proxy       | the next window of a path, and | passes it on, strictly in sequence, from the |
/// |             | fewer than 2 on their way      | slot into which it came |
/// | proxy       | the oldest window is taken     | its slot is ready for another one |
/// | proxy       | an empty window                | passes it on; the path has ended |
/// | proxy       | its path is given up           | forgets what it holds |
/// | destination | a window                       | copies it to its place |
/// | destination | a request about a path         | takes no more of it, and says what has come |
/// | destination | an empty window of each path   | all has come, or it is an error; tells the |
/// |             | that was not given up          | source, which waits for that |
///
/// A send is complete when a slot of the receiver has been matched with it, so a slot is the credit
/// for a window, and a slow path holds its source back. Each path has slots of its own at each
/// proxy, and destinations always take what comes: flows that cross through each other's proxies
/// cannot wait for each other in a circle. A proxy has 4 slots for each path that it forwards.
/// Windows of a path come in sequence, so their number says which ones; and since the destination
/// closes a path when it answers, none comes twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/pending.hpp"
#include "fluvial/route/rank_flow.hpp"

namespace fluvial::move {

/// Windows of a path that are on their way from one rank to the next, and slots that the next one
/// has for them: with as many slots as sends, a proxy would receive and send in turns.
inline constexpr std::size_t sends_in_flight = 2, slots_of_path = 2 * sends_in_flight;

struct Outgoing {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;  ///< keeps them; they stay unchanged until the call returns
};

struct Arrived {
    std::shared_ptr<std::byte[]> bytes;
    std::size_t size = 0;
};

/// What one path of a flow has carried.
struct PathUse {
    std::vector<int> stops;     ///< ranks, the first and the last included
    std::uint64_t windows = 0;  ///< 1 for a message without windows
    std::uint64_t bytes = 0;    ///< that came by it, or were sent and not called for again
    bool given_up = false;      ///< it stood still, and the rest went another way
    bool instead = false;       ///< not one of the plan: direct, for paths that were given up
};

struct Moved {
    std::vector<Arrived> arrived;            ///< of each flow that ends here
    std::vector<std::vector<PathUse>> used;  ///< of each flow that begins or ends here
    /// A path with which this rank had to do was given up, and messages may be left on their way:
    /// the communicator is not to be used for another exchange, and not to be freed.
    bool leaves_messages = false;
};

struct ExchangeOptions {
    /// Without any movement on this rank, after which it gives up.
    double stall_timeout_s = 300;
    /// Without any movement on a path by way of a proxy, after which its windows go direct. 0: a
    /// quarter of stall_timeout_s, 10 s at most.
    double reroute_after_s = 0;
    /// Whether the bytes that have come are compared with those that were sent.
    bool checksum = false;
    /// For tests: is called with the data of each window that this rank is to pass on.
    std::function<void(std::span<std::byte>)> at_proxy = {};
    /// For simulated machines, whose time does not go on while a rank looks: is called instead of a
    /// rest, and returns when one of these is complete.
    std::function<void(std::span<const mpi::Pending>)> rest = {};
};

/// An exchange on which the ranks have agreed, and for which receives stand ready; what remains is
/// to move the data.
class PreparedExchange {
  public:
    /// Whether the ranks still have to agree on the flows, or have just done so, by a collective
    /// call over the same communicator.
    enum class Agreed { Not, Already };
    /// Collective, blocking; as exchange(). `flows`, `comm` and what `outgoing` has are used until
    /// run() has returned.
    PreparedExchange(const mpi::Comm& comm, std::span<const route::RankFlow> flows,
                     std::vector<Outgoing> outgoing, ExchangeOptions options = {},
                     Agreed agreed = Agreed::Not);
    ~PreparedExchange();
    PreparedExchange(const PreparedExchange&) = delete;
    PreparedExchange& operator=(const PreparedExchange&) = delete;
    /// Once, on all ranks. Blocking.
    Moved run();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Moves all flows, which are the same on all ranks. `outgoing` of each flow: counts where this
/// rank is its source. Collective, blocking; a rank that waits serves (progress/engine.hpp). Flows
/// without windows are one message each, of any length. With a checksum, two more small messages a
/// flow, a pass over the data at both its ends, and an agreement at the end, for which ranks wait
/// no longer than for movement.
///
/// A proxy that stops, or whose cable is cut, costs its path and not the flow. Where its process is
/// gone, what happens is MPI's decision: most launchers end the job. Throws InvalidArgument on all
/// ranks where one has other bytes than a flow says, TimedOut when nothing has moved for
/// stall_timeout_s on this rank, and DamagedMessage on all ranks where a checksum differs.
Moved exchange(const mpi::Comm& comm, std::span<const route::RankFlow> flows,
               std::span<const Outgoing> outgoing, const ExchangeOptions& options = {});

}  // namespace fluvial::move
