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
    WindowHeader() = default;
    WindowHeader(std::size_t begins, std::size_t length, std::uint32_t number)
        : offset(begins), exchange(number), bytes(static_cast<std::uint32_t>(length)) {}

    std::uint64_t offset = 0;
    std::uint32_t exchange = 0;  ///< that it belongs to
    std::uint32_t bytes = 0;     ///< the lower half of their number, which is the message's
};

struct Window {
    std::size_t offset;
    std::span<const std::byte> bytes;
};

/// What a message brings. Throws Error where it has another length than its header says, or belongs
/// to another exchange than this `exchange`: an MPI library that does not take a receive back
/// properly may deliver by it what an earlier exchange was sent.
Window window_in(std::span<const std::byte> message, std::uint32_t exchange);

/// Slots for the windows of one path of a flow.
std::shared_ptr<mpi::ReceiveRing> make_ring(const mpi::Comm& comm, const route::RankFlow& flow,
                                            int tag);

}  // namespace fluvial::move
