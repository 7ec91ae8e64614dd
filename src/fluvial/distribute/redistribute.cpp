// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/redistribute.hpp"

#include <algorithm>
#include <tuple>

#include "fluvial/base/error.hpp"
#include "fluvial/distribute/overlap.hpp"

namespace fluvial::distribute {
namespace {

[[noreturn]] void throw_overlap(const Share& a, const Share& b) {
    const std::string who =
        a.rank == b.rank ? text("rank ", a.rank, " has elements twice")
                         : text("ranks ", a.rank, " and ", b.rank, " have the same elements");
    throw InvalidArgument(Problem{who, text(*intersect(a.region, b.region)),
                                  "each element on one rank, once",
                                  "Leave these out of one of the two boxes"});
}

/// The first box of `wanted` that none of `parts` covers.
[[noreturn]] void throw_hole(const Share& wanted, std::span<const Region> parts) {
    std::vector<Region> missing{wanted.region};
    for (const Region& part : parts) {
        std::vector<Region> rest;
        for (const Region& box : missing) {
            const auto outside = subtract(box, part);
            rest.insert(rest.end(), outside.begin(), outside.end());
        }
        missing = std::move(rest);
    }
    throw InvalidArgument(Problem{text("rank ", wanted.rank, " wants elements that no rank has"),
                                  text(missing.front()), "boxes that the ranks have together",
                                  "Let a rank have these, or want less"});
}

}  // namespace

std::vector<Transfer> transfers_between(std::span<const Share> held,
                                        std::span<const Share> wanted) {
    std::vector<Region> regions;
    for (const Share& share : held) {
        regions.push_back(share.region);
    }
    for (const Share& share : wanted) {
        regions.push_back(share.region);
    }
    std::vector<Transfer> found;
    std::vector<std::vector<Region>> parts(wanted.size());
    for (const auto& [a, b] : overlapping(regions)) {
        if (b < held.size()) {
            throw_overlap(held[a], held[b]);
        }
        if (a < held.size()) {
            const std::size_t to = b - held.size();
            found.push_back({a, to, *intersect(regions[a], regions[b])});
            parts[to].push_back(found.back().region);
        }
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        Index covered = 0;
        for (const Region& part : parts[i]) {
            covered += part.volume();
        }
        if (covered < wanted[i].region.volume()) {
            throw_hole(wanted[i], parts[i]);
        }
    }
    std::sort(found.begin(), found.end(), [&](const Transfer& a, const Transfer& b) {
        return std::tuple(held[a.held].rank, wanted[a.wanted].rank, a.held, a.wanted) <
               std::tuple(held[b.held].rank, wanted[b.wanted].rank, b.held, b.wanted);
    });
    return found;
}

}  // namespace fluvial::distribute
