// SPDX-License-Identifier: Apache-2.0
/// Moves flows along several paths at once: ranks send windows of the data to proxies, which pass
/// them on (Bui et al. 2016, sections 4.2 and 4.5).
///
/// A window travels as one message, behind a header that says where it belongs:
///
/// | who         | finds                              | what it does |
/// |-------------|------------------------------------|---------------------------------------------|
/// | source      | a path with fewer than 2 windows   | sends the next window along it, so a path |
/// |             | on their way                       | that is twice as fast carries twice as much
/// | | source      | all windows are handed out         | sends an empty window along each path |
/// | proxy       | the next window of a path, and     | passes it on, strictly in sequence, from |
/// |             | fewer than 2 on their way          | the slot into which it came | | proxy | the
/// oldest window has been taken   | its slot is ready for another one           | | proxy       |
/// an empty window                    | passes it on; the path has ended            | | destination
/// | a window                           | copies it to its place                      | |
/// destination | an empty window of each path       | all has come, or it is an error             |
///
/// A send is complete when a slot of the receiver has been matched with it, so a slot is the credit
/// for a window, and a slow path holds its source back. Each path has slots of its own at each
/// proxy, and destinations always take what comes: flows that cross through each other's proxies
/// cannot wait for each other in a circle. A proxy has 4 slots for each path that it forwards.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "fluvial/mpi/comm.hpp"
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

/// Moves all flows, which are the same on all ranks. `outgoing` of each flow: counts where this
/// rank is its source. Returns what has come of each flow that ends here, and nothing of others.
/// Collective, blocking; a rank that waits serves (progress/engine.hpp). Flows without windows are
/// one message each, of any length. Throws InvalidArgument on all ranks where one has other bytes
/// than a flow says, TimedOut when nothing has moved for `stall_timeout_s` on this rank.
std::vector<Arrived> exchange(const mpi::Comm& comm, std::span<const route::RankFlow> flows,
                              std::span<const Outgoing> outgoing, double stall_timeout_s = 300);

}  // namespace fluvial::move
