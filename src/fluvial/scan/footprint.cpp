// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/footprint.hpp"

#include <algorithm>

#include "fluvial/scan/lane.hpp"
#include "fluvial/scan/units.hpp"

namespace fluvial::scan {
namespace {

Index chunk_bytes(const store::Dataset& dataset) {
    const Coordinates chunk = chunk_of(dataset.layout());
    return chunk.empty() ? 0 : volume_of(chunk) * static_cast<Index>(size_of(dataset.dtype()));
}

/// The bytes that are read and decoded of one part, for units of `unit_elements` or of a buffer.
Index fetch_bytes(const store::Dataset& dataset, Index buffer_bytes, bool same_chunks,
                  Index unit_elements) {
    const Index unit_bytes = unit_elements * static_cast<Index>(size_of(dataset.dtype()));
    const Index chunk = chunk_bytes(dataset);
    if (std::holds_alternative<store::Affine>(dataset.layout())) {
        return std::max(buffer_bytes, unit_bytes);
    }
    if (std::holds_alternative<store::ByLibrary>(dataset.layout())) {
        return std::max({buffer_bytes, unit_bytes, chunk}) + chunk;  // the library's own
    }
    if (same_chunks && reads_parts(dataset.layout())) {
        return buffer_bytes;
    }
    // As stored and as decoded, twice where filters want two steps; a box of several gathered.
    const auto& filters = std::get<store::Chunked>(dataset.layout()).filters;
    const bool turned =
        filters.size() == 2 && filters.front().kind == store::Filter::Kind::Transpose;
    const Index decoded = filters.size() > 2 || turned ? 2 * chunk : chunk;
    return std::max(buffer_bytes, chunk) + decoded + (same_chunks ? 0 : unit_bytes);
}

}  // namespace

bool reads_parts(const store::Layout& layout) {
    const auto* const chunked = std::get_if<store::Chunked>(&layout);
    return chunked != nullptr && chunked->filters.empty();
}

bool works_in_slabs(const Request& request, std::size_t grid_input, std::size_t part) {
    const auto chunked = [&](const Input& input) {
        return std::get_if<store::Chunked>(&input.parts[part]->layout());
    };
    const auto* const grid = chunked(request.inputs[grid_input]);
    return grid != nullptr &&
           std::all_of(request.inputs.begin(), request.inputs.end(), [&](const Input& input) {
               const auto* const other = chunked(input);
               return other != nullptr
                          ? other->chunk == grid->chunk
                          : std::holds_alternative<store::Affine>(input.parts[part]->layout());
           });
}

Index lane_bytes(const Request& request, std::size_t grid_input, Index buffer_bytes) {
    Index most = 0;
    for (std::size_t part = 0; part < request.inputs[grid_input].parts.size(); ++part) {
        const bool slabs = works_in_slabs(request, grid_input, part);
        const Coordinates chunk = chunk_of(request.inputs[grid_input].parts[part]->layout());
        const Index unit_elements = slabs || chunk.empty() ? 0 : volume_of(chunk);
        Index bytes = 0;
        for (const Input& input : request.inputs) {
            const store::Dataset& dataset = *input.parts[part];
            const bool same = slabs || chunk_of(dataset.layout()) == chunk;
            bytes += fetch_bytes(dataset, buffer_bytes, same, unit_elements);
            // Swapped, unpacked to float64, and which of them count.
            const auto element = static_cast<Index>(size_of(dataset.dtype()));
            const Index prepared =
                unit_elements > 0 ? unit_elements : (slabs ? slab_bytes : buffer_bytes) / element;
            bytes += prepared * (element + static_cast<Index>(sizeof(double)) + 1);
        }
        most = std::max(most, bytes);
    }
    return most;
}

}  // namespace fluvial::scan
