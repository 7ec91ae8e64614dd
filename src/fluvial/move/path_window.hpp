// SPDX-License-Identifier: Apache-2.0
/// The message in which a window travels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fluvial/mpi/receive_ring.hpp"
#include "fluvial/route/rank_flow.hpp"

namespace fluvial::move {

/// In front of each window. An empty one ends its path.
struct WindowHeader {
    std::uint64_t offset = 0, bytes = 0;
};

/// Throws Error where the message has another length than its header says.
WindowHeader header_of(std::span<const std::byte> window);

/// Slots for the windows of one path of a flow.
std::shared_ptr<mpi::ReceiveRing> make_ring(const mpi::Comm& comm, const route::RankFlow& flow,
                                            int tag);

}  // namespace fluvial::move
