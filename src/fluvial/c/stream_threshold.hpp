// SPDX-License-Identifier: Apache-2.0
/// Threshold collectives of MPI programs: an intermediate function sees the contributions of a
/// round and gives the verdict from inside, as in Listing 3 of "A Data Streaming Model in MPI".
#pragma once

#include <memory>

#include "fluvial/c/stream_operation.hpp"
#include "fluvial/stream/threshold_collective.hpp"

namespace fluvial::c {

/// Contributions are elements; merged they lie side by side. Each round has a result of its own,
/// which `function` makes of them as they come; what it passes to give_verdict() meanwhile is the
/// verdict.
stream::ThresholdRule threshold_rule(std::shared_ptr<const StreamTypes> types,
                                     MPI_User_function* function);

/// The verdict of the round that this thread judges. Throws InvalidArgument outside of judging.
void give_verdict(bool verdict);

}  // namespace fluvial::c
