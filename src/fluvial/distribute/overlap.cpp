// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/overlap.hpp"

#include <algorithm>
#include <numeric>

namespace fluvial::distribute {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;

class Search {
  public:
    explicit Search(std::span<const Region> regions) : regions_(regions) {}

    void look_among(const std::vector<std::size_t>& members) {
        constexpr std::size_t few = 24;
        Cut cut;
        if (members.size() > few) {
            cut = best_cut(members);
        }
        if (cut.axis < 0) {
            compare_all(members);
            return;
        }
        std::vector<std::size_t> below, above;
        for (const std::size_t member : members) {
            if (begins(member, cut.axis) < cut.at) {
                below.push_back(member);
            }
            if (ends(member, cut.axis) > cut.at) {
                above.push_back(member);
            }
        }
        look_among(below);
        look_among(above);
    }

    std::vector<Pair> found() {
        std::sort(found_.begin(), found_.end());
        found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
        return std::move(found_);
    }

  private:
    struct Cut {
        int axis = -1;  ///< none that separates enough
        Index at = 0;
    };

    Index begins(std::size_t i, int axis) const { return regions_[i].offset[axis]; }
    Index ends(std::size_t i, int axis) const {
        return regions_[i].offset[axis] + regions_[i].extent[axis];
    }

    /// At about the median offset, along the axis where the larger side is smallest.
    Cut best_cut(const std::vector<std::size_t>& members) const {
        Cut best;
        std::size_t larger_side = members.size() * 7 / 8;  // more would hardly get smaller
        constexpr std::size_t sample = 63;
        std::vector<Index> offsets(std::min(sample, members.size()));
        for (int axis = 0; axis < regions_[members.front()].ndim(); ++axis) {
            for (std::size_t k = 0; k < offsets.size(); ++k) {
                offsets[k] = begins(members[k * members.size() / offsets.size()], axis);
            }
            const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
            std::nth_element(offsets.begin(), middle, offsets.end());
            const Index at = *middle;
            std::size_t below = 0, above = 0;
            for (const std::size_t i : members) {
                below += begins(i, axis) < at ? 1 : 0;
                above += ends(i, axis) > at ? 1 : 0;
            }
            if (std::max(below, above) < larger_side) {
                larger_side = std::max(below, above);
                best = {axis, at};
            }
        }
        return best;
    }

    bool overlap(std::size_t a, std::size_t b) const {
        for (int axis = 0; axis < regions_[a].ndim(); ++axis) {
            if (std::max(begins(a, axis), begins(b, axis)) >=
                std::min(ends(a, axis), ends(b, axis))) {
                return false;
            }
        }
        return true;
    }

    void compare_all(const std::vector<std::size_t>& members) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (std::size_t j = i + 1; j < members.size(); ++j) {
                if (overlap(members[i], members[j])) {
                    found_.emplace_back(std::min(members[i], members[j]),
                                        std::max(members[i], members[j]));
                }
            }
        }
    }

    std::span<const Region> regions_;
    std::vector<Pair> found_;
};

/// Positions of regions that come again: all of one place would be pairs of each other.
std::vector<std::size_t> repeated_later(std::span<const Region> regions) {
    std::vector<std::size_t> order(regions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto less = [](const Coordinates& a, const Coordinates& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return less(regions[a].offset, regions[b].offset) ||
               (regions[a].offset == regions[b].offset &&
                less(regions[a].extent, regions[b].extent));
    });
    std::vector<std::size_t> repeated;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        if (regions[order[i]] == regions[order[i + 1]]) {
            repeated.push_back(order[i]);
        }
    }
    return repeated;
}

}  // namespace

std::vector<Pair> overlapping(std::span<const Region> regions) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (!regions[i].empty()) {
            members.push_back(i);
        }
    }
    Search search(regions);
    search.look_among(members);
    return search.found();
}

std::vector<std::vector<Region>> last_written(std::span<const Region> regions) {
    std::vector<bool> repeated(regions.size(), false);
    for (const std::size_t i : repeated_later(regions)) {
        repeated[i] = true;
    }
    std::vector<Region> once;
    std::vector<std::size_t> position;
    for (std::size_t i = 0; i < regions.size(); ++i) {
        if (!repeated[i] && !regions[i].empty()) {
            once.push_back(regions[i]);
            position.push_back(i);
        }
    }
    std::vector<std::vector<Region>> parts(regions.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
        parts[position[i]] = {once[i]};
    }
    for (const auto& [earlier, later] : overlapping(once)) {
        std::vector<Region>& seen = parts[position[earlier]];
        std::vector<Region> rest;
        for (const Region& part : seen) {
            const auto outside = subtract(part, once[later]);
            rest.insert(rest.end(), outside.begin(), outside.end());
        }
        seen = std::move(rest);
    }
    return parts;
}

}  // namespace fluvial::distribute
