// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

struct WaitingMessage {
    int source = 0;
    int tag = 0;
};

/// A message that has come, from any rank with any tag, and that nobody has received; it stays.
/// Local, one probe.
std::optional<WaitingMessage> waiting_message(const Comm& comm);

}  // namespace fluvial::mpi
