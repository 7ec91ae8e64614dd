// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/metrics.hpp"

#include <algorithm>
#include <set>

namespace fluvial::distribute {
namespace {

using Path = std::optional<std::string>;

template <class Entries, class PlaceOf>
std::vector<Path> paths_of(const Entries& entries, std::string_view layer, PlaceOf place_of) {
    std::vector<Path> paths;
    for (const auto& entry : entries) {
        paths.push_back(place_of(entry).down_to(layer));
    }
    return paths;
}

}  // namespace

Metrics metrics_of(const Request& request, const Distribution& made, std::string_view layer) {
    const auto written =
        paths_of(request.chunks, layer,
                 [](const WrittenChunk& chunk) -> const Place& { return chunk.place; });
    const auto read =
        paths_of(request.readers, layer, [](const Place& place) -> const Place& { return place; });
    Index elements = 0, near = 0, whole = 0;
    std::vector<Index> shares(request.readers.size(), 0);
    std::vector<std::set<int>> partners(request.readers.size());
    for (const auto& [reader, piece] : made.assigned) {
        const auto number = static_cast<std::size_t>(reader);
        const WrittenChunk& chunk = request.chunks[piece.chunk];
        const Index volume = piece.region.volume();
        elements += volume;
        shares[number] += volume;
        near += read[number] && read[number] == written[piece.chunk] ? volume : 0;
        whole += piece.region == chunk.region ? volume : 0;
        partners[number].insert(chunk.rank);
    }
    Metrics metrics;
    metrics.pieces = static_cast<Index>(made.assigned.size());
    if (elements == 0) {
        return metrics;
    }
    const double all = static_cast<double>(elements);
    const Index most = *std::max_element(shares.begin(), shares.end());
    for (const std::set<int>& ranks : partners) {
        metrics.partners_max = std::max(metrics.partners_max, static_cast<Index>(ranks.size()));
        metrics.partners_mean +=
            static_cast<double>(ranks.size()) / static_cast<double>(partners.size());
    }
    metrics.locality = static_cast<double>(near) / all;
    metrics.balance = static_cast<double>(most) * static_cast<double>(shares.size()) / all;
    metrics.bytes_max = most * static_cast<Index>(request.element_bytes);
    metrics.alignment = static_cast<double>(whole) / all;
    return metrics;
}

}  // namespace fluvial::distribute
