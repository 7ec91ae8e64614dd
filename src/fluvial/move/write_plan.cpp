// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/write_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "fluvial/base/error.hpp"
#include "fluvial/route/sinks.hpp"

namespace fluvial::move {

std::vector<Extent> sorted_extents(std::vector<Extent> extents) {
    std::erase_if(extents, [](const Extent& extent) { return extent.bytes == 0; });
    std::sort(extents.begin(), extents.end(),
              [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < extents.size(); ++i) {
        const Extent &before = extents[i - 1], &after = extents[i];
        if (after.offset < before.end()) {
            throw InvalidArgument(Problem{
                text("parts of a file overlap, of ranks ", before.rank, " and ", after.rank),
                text("bytes ", before.offset, " to ", before.end(), ", and from ", after.offset),
                "each byte from one rank", ""});
        }
    }
    return extents;
}

std::vector<int> choose_writers(std::span<const std::string> host_of_rank,
                                std::span<const Extent> extents, std::size_t count) {
    std::vector<std::uint64_t> bytes(host_of_rank.size(), 0);
    for (const Extent& extent : extents) {
        bytes[static_cast<std::size_t>(extent.rank)] += extent.bytes;
    }
    std::vector<int> ranks(host_of_rank.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
        return bytes[static_cast<std::size_t>(a)] > bytes[static_cast<std::size_t>(b)];
    });
    // The ranks' places on their hosts: the first of each host come before the second of any.
    std::map<std::string, std::size_t> seen;
    std::vector<std::size_t> place(ranks.size());
    for (const int rank : ranks) {
        place[static_cast<std::size_t>(rank)] =
            seen[host_of_rank[static_cast<std::size_t>(rank)]]++;
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
        return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)];
    });
    ranks.resize(std::min(ranks.size(), count == 0 ? seen.size() : count));
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

std::vector<std::vector<WriteWindow>> plan_windows(std::span<const Extent> extents,
                                                   std::size_t writers, std::uint64_t align,
                                                   std::uint64_t window_bytes) {
    std::uint64_t total = 0;
    for (const Extent& extent : extents) {
        total += extent.bytes;
    }
    const std::vector<std::uint64_t> ends = route::ends_of_parts(total, writers);
    std::vector<std::vector<WriteWindow>> windows(writers);
    // Of the data before the place where the next window may begin.
    std::uint64_t written = 0, place = 0;
    std::size_t at = 0;
    const auto advance = [&](std::uint64_t end) {
        while (at < extents.size() && place < end) {
            const std::uint64_t begin = std::max(place, extents[at].offset);
            const std::uint64_t stop = std::min(end, extents[at].end());
            written += stop > begin ? stop - begin : 0;
            if (extents[at].end() > end) {
                break;
            }
            ++at;
        }
        place = end;
    };
    for (std::size_t writer = 0; writer < writers; ++writer) {
        const bool last = writer + 1 == writers;
        const std::uint64_t share = ends[writer];
        while (at < extents.size() && (last || written < share)) {
            const std::uint64_t first = std::max(place, extents[at].offset);
            const std::uint64_t begin = std::max(place, first / align * align);
            const std::uint64_t left = last ? window_bytes : share - written;
            const std::uint64_t wanted = (first - begin + left + align - 1) / align * align;
            const std::uint64_t end = begin + std::min(window_bytes, wanted);
            windows[writer].push_back({begin, end});
            advance(end);
        }
    }
    return windows;
}

}  // namespace fluvial::move
