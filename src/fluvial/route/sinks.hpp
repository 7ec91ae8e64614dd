// SPDX-License-Identifier: Apache-2.0
/// Which sink takes which part of data that hosts have very unevenly, such as I/O hosts or ranks
/// that write a file: each as much as the others, wherever the data lies, because what keeps all
/// waiting is the sink that takes most (Bui et al. 2016, section 6). Local, and the same on all
/// ranks that are given the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluvial/route/plan.hpp"

namespace fluvial::route {

/// Where the part of each sink ends, of `bytes` in a row that begin at 0: equal parts, to a byte.
std::vector<std::uint64_t> ends_of_parts(std::uint64_t bytes, std::size_t sinks);

/// Bytes that a host has for the sinks together.
struct HostBytes {
    Node host = 0;
    std::uint64_t bytes = 0;
};

/// A flow from a host to a sink for each piece of data: the data of all hosts, in a row in their
/// order, is cut into equal parts, of which the first goes to the first sink. So the flows of one
/// host cover its data one after the other. Neighbours in both lists should lie close together.
/// Throws OutOfBounds for hosts that do not exist, InvalidArgument without a sink.
std::vector<Flow> balance_sinks(const Topology& topology, std::span<const HostBytes> sources,
                                std::span<const Node> sinks);

}  // namespace fluvial::route
