// SPDX-License-Identifier: Apache-2.0
#include "fluvial/route/sinks.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"

namespace fluvial::route {

std::vector<std::uint64_t> ends_of_parts(std::uint64_t bytes, std::size_t sinks) {
    std::vector<std::uint64_t> ends;
    for (std::size_t sink = 1; sink <= sinks; ++sink) {
        // `bytes` is divided first, so that nothing overflows.
        ends.push_back(bytes / sinks * sink + bytes % sinks * sink / sinks);
    }
    return ends;
}

std::vector<Flow> balance_sinks(const Topology& topology, std::span<const HostBytes> sources,
                                std::span<const Node> sinks) {
    if (sinks.empty()) {
        throw InvalidArgument(Problem{"data has no sink", "0 sinks", "1 or more", ""});
    }
    for (const Node sink : sinks) {
        topology.check_host(sink, "a sink");
    }
    std::uint64_t bytes = 0;
    for (const HostBytes& source : sources) {
        topology.check_host(source.host, "a source");
        bytes += source.bytes;
    }
    const std::vector<std::uint64_t> ends = ends_of_parts(bytes, sinks.size());
    std::vector<Flow> flows;
    std::uint64_t place = 0;
    std::size_t sink = 0;
    for (const HostBytes& source : sources) {
        const std::uint64_t end = place + source.bytes;
        while (place < end) {
            const std::uint64_t stop = std::min(end, ends[sink]);
            if (stop > place) {
                flows.push_back({source.host, sinks[sink], static_cast<double>(stop - place)});
            }
            place = stop;
            sink += place == ends[sink] && sink + 1 < sinks.size() ? 1 : 0;
        }
    }
    return flows;
}

}  // namespace fluvial::route
