// SPDX-License-Identifier: Apache-2.0
/// Small messages between the ranks of an exchange, beside the windows of its flows.
///
/// | message  | from, to             | says |
/// |----------|----------------------|----------------------------------------------------------|
/// | Request  | source, destination  | a path has stood still: how many windows have come by it? |
/// | Result   | destination, source  | so many, and no more are taken from it; or it has ended |
/// | Stop     | source, proxy        | its path is given up, and what it holds is not wanted |
/// | Whole    | destination, source  | every byte of the flow has come |
/// | Sum      | source, destination  | the checksum of the flow |
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/receive_ring.hpp"
#include "fluvial/mpi/send_queue.hpp"

namespace fluvial::move {

struct Control {
    enum Kind : std::uint32_t { Request, Result, Stop, Whole, Sum };

    std::uint64_t exchange = 0;  ///< messages of another exchange are dropped
    Kind kind = Request;
    std::uint32_t ended = 0;
    std::uint64_t flow = 0, path = 0;
    std::uint64_t value = 0;  ///< windows, or the checksum
};

/// Appends `one` where there is one.
inline void append(std::vector<mpi::Pending>& pending, const std::optional<mpi::Pending>& one) {
    if (one) {
        pending.push_back(*one);
    }
}

/// The control messages that one rank sends and receives in one exchange. Local.
class Controls {
  public:
    static constexpr int tag = mpi::tag_max;

    Controls(const mpi::Comm& comm, std::uint64_t exchange);
    void tell(int rank, Control control);
    /// The next message that has come. Throws SystemError.
    std::optional<Control> hear();
    /// All that was told to others has left, apart from Stop, which a stopped rank never takes.
    bool told();
    /// Appends what hear() and told() look at.
    void add_pending(std::vector<mpi::Pending>& pending);

  private:
    mpi::SendQueue& queue_to(int rank, bool waited_for);

    const mpi::Comm& comm_;
    std::uint64_t exchange_;
    mpi::ReceiveRing ring_;
    std::map<int, std::unique_ptr<mpi::SendQueue>> waited_for_, others_;
};

}  // namespace fluvial::move
