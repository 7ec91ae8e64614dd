// SPDX-License-Identifier: Apache-2.0
/// Axis-parallel boxes in the index space of a dataset (hyperslabs without stride) and their
/// algebra.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/describe/coordinates.hpp"

namespace fluvial {

/// The elements whose coordinate along each axis lies in [offset, offset + extent).
struct Region {
    Coordinates offset;
    Coordinates extent;

    int ndim() const { return extent.size(); }
    Index volume() const { return volume_of(extent); }
    bool empty() const { return std::find(extent.begin(), extent.end(), 0) != extent.end(); }
    friend bool operator==(const Region&, const Region&) = default;
};

std::ostream& operator<<(std::ostream& out, const Region& region);

/// What an error speaks of: "chunk", or "chunk of 'x'". Put together only when there is an error:
/// that costs more than most checks.
struct Subject {
    Subject(const char* kind_) : kind(kind_) {}
    Subject(const std::string& kind_) : kind(kind_) {}
    Subject(std::string_view kind_, std::string_view name_) : kind(kind_), name(name_) {}
    std::string_view kind;
    std::string_view name{};
};

std::ostream& operator<<(std::ostream& out, const Subject& subject);

/// The same region counted from the first element of `outer`, in which it lies.
Region within(const Region& region, const Region& outer);

/// The region that covers a dataset of this shape.
Region whole(const Coordinates& shape);

/// Throws InvalidArgument unless offset and extent have equal lengths, no entry is negative and the
/// region lies in `shape`; `what` opens the message, e.g. "chunk of 'atoms/position/x'".
void check_inside(const Region& region, const Coordinates& shape, const Subject& what);

bool contains(const Region& outer, const Region& inner);
bool contains(const Region& region, const Coordinates& point);

/// The common elements; none when the two are disjoint (also when either is empty).
std::optional<Region> intersect(const Region& a, const Region& b);

/// `from` without `hole`, as at most 2 * ndim disjoint non-empty regions.
std::vector<Region> subtract(const Region& from, const Region& hole);

/// Cuts `region` along `axis` into `parts` regions whose extents differ by at most one, larger ones
/// first. Parts beyond the extent are empty, so part i always belongs to rank i.
std::vector<Region> split(const Region& region, int parts, int axis = 0);

/// Position of `point` in row-major (C) order over `shape`; inverse of coordinates_of.
Index linear_index(const Coordinates& point, const Coordinates& shape);
Coordinates coordinates_of(Index linear, const Coordinates& shape);

}  // namespace fluvial
