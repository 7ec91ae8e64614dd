// SPDX-License-Identifier: Apache-2.0
/// Hosts by their names, of which the system knows the addresses (/etc/hosts, DNS).
#pragma once

#include <string>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/tcp_socket.hpp"

namespace fluvial::move {

/// "node17", "node17.cluster.org": letters, digits, '-', '_' and '.', and not an address in
/// numbers.
bool is_host_name(const std::string& name);

/// "node17:40123", or an address in numbers as endpoint_of() takes it. Throws InvalidArgument.
Endpoint endpoint_by_name(const std::string& text);

/// The addresses in numbers that the host of `endpoint` has here; itself where it is one. None
/// where the system knows none until `deadline`: then `why` tells the reason. Waits; a signal or
/// Ctrl-C ends that.
std::vector<Endpoint> resolved(const Endpoint& endpoint, const Deadline& deadline,
                               std::string& why);

}  // namespace fluvial::move
