// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/region.hpp"

#include <limits>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/finer_errors.hpp"

namespace fluvial {

Index volume_of(const Coordinates& extent) {
    Index volume = 1;
    bool overflow = false;
    bool empty = false;
    for (const Index n : extent) {
        if (n < 0) {
            throw InvalidArgument(
                Problem{"an extent is negative", text(extent), "0 or more along every axis", ""});
        }
        empty = empty || n == 0;
        overflow = __builtin_mul_overflow(volume, n, &volume) || overflow;
    }
    if (empty) {
        return 0;
    }
    if (overflow) {
        throw InvalidArgument(
            Problem{"more elements than 64 bits can count", text(extent), "fewer than 2^63", ""});
    }
    return volume;
}

std::ostream& operator<<(std::ostream& out, const Region& region) {
    return out << "offset " << region.offset << " extent " << region.extent;
}

Region within(const Region& region, const Region& outer) {
    Region local = region;
    for (int axis = 0; axis < local.ndim(); ++axis) {
        local.offset[axis] -= outer.offset[axis];
    }
    return local;
}

Region whole(const Coordinates& shape) {
    return {Coordinates(shape.size(), 0), shape};
}

std::ostream& operator<<(std::ostream& out, const Subject& subject) {
    out << subject.kind;
    return subject.name.empty() ? out : out << " '" << subject.name << "'";
}

void check_inside(const Region& region, const Coordinates& shape, const Subject& what) {
    if (region.offset.size() != shape.size() || region.extent.size() != shape.size()) {
        throw InvalidArgument(
            Problem{text(what, ": dimensions do not match the dataset's"), text(region),
                    text(shape.size(), " dimensions, for the global shape ", shape),
                    "Give offset and extent one entry an axis"});
    }
    for (int axis = 0; axis < shape.size(); ++axis) {
        const Index offset = region.offset[axis];
        const Index extent = region.extent[axis];
        if (offset < 0 || extent < 0 || offset > shape[axis] || extent > shape[axis] - offset) {
            throw OutOfBounds(Problem{text(what, ": outside the dataset along axis ", axis),
                                      text(region), text("within the global shape ", shape),
                                      "Check the offset, or enlarge the shape"});
        }
    }
}

bool contains(const Region& outer, const Region& inner) {
    if (outer.ndim() != inner.ndim()) {
        return false;
    }
    for (int axis = 0; axis < outer.ndim(); ++axis) {
        Index inner_end = 0, outer_end = 0;
        if (__builtin_add_overflow(inner.offset[axis], inner.extent[axis], &inner_end) ||
            __builtin_add_overflow(outer.offset[axis], outer.extent[axis], &outer_end) ||
            inner.offset[axis] < outer.offset[axis] || inner_end > outer_end) {
            return false;
        }
    }
    return true;
}

bool contains(const Region& region, const Coordinates& point) {
    return contains(region, Region{point, Coordinates(point.size(), 1)});
}

std::optional<Region> intersect(const Region& a, const Region& b) {
    FLUVIAL_ASSERT(a.ndim() == b.ndim(), a, b);
    Region common = a;
    for (int axis = 0; axis < a.ndim(); ++axis) {
        const Index begin = std::max(a.offset[axis], b.offset[axis]);
        const Index end =
            std::min(a.offset[axis] + a.extent[axis], b.offset[axis] + b.extent[axis]);
        if (begin >= end) {
            return std::nullopt;
        }
        common.offset[axis] = begin;
        common.extent[axis] = end - begin;
    }
    return common;
}

std::vector<Region> subtract(const Region& from, const Region& hole) {
    std::vector<Region> pieces;
    const auto common = intersect(from, hole);
    if (!common) {
        if (!from.empty()) {
            pieces.push_back(from);
        }
        return pieces;
    }
    // Peel the slabs before and after the hole axis by axis; what is left shrinks to the hole
    // itself.
    Region rest = from;
    for (int axis = 0; axis < from.ndim(); ++axis) {
        const Index before = common->offset[axis] - rest.offset[axis];
        if (before > 0) {
            Region slab = rest;
            slab.extent[axis] = before;
            pieces.push_back(slab);
        }
        const Index after =
            rest.offset[axis] + rest.extent[axis] - common->offset[axis] - common->extent[axis];
        if (after > 0) {
            Region slab = rest;
            slab.offset[axis] = common->offset[axis] + common->extent[axis];
            slab.extent[axis] = after;
            pieces.push_back(slab);
        }
        rest.offset[axis] = common->offset[axis];
        rest.extent[axis] = common->extent[axis];
    }
    return pieces;
}

std::vector<Region> split(const Region& region, int parts, int axis) {
    if (parts < 1) {
        throw InvalidArgument(
            Problem{"cannot split a region", text(parts, " parts"), "1 or more", ""});
    }
    if (region.ndim() ==
        0) {  // a scalar belongs to the first part; nothing can express an empty scalar region
        return {region};
    }
    if (axis < 0 || axis >= region.ndim()) {
        throw InvalidArgument(Problem{"cannot split a region along this axis", text(axis),
                                      text("0 to ", region.ndim() - 1), ""});
    }
    std::vector<Region> out(static_cast<std::size_t>(parts), region);
    const Index base = region.extent[axis] / parts;
    const Index larger = region.extent[axis] % parts;
    Index begin = region.offset[axis];
    for (Index i = 0; i < parts; ++i) {
        out[i].offset[axis] = begin;
        out[i].extent[axis] = base + (i < larger ? 1 : 0);
        begin += out[i].extent[axis];
    }
    return out;
}

Index linear_index(const Coordinates& point, const Coordinates& shape) {
    FLUVIAL_ASSERT(contains(whole(shape), point), point, shape);
    Index linear = 0;
    for (int axis = 0; axis < shape.size(); ++axis) {
        linear = linear * shape[axis] + point[axis];
    }
    return linear;
}

Coordinates coordinates_of(Index linear, const Coordinates& shape) {
    Coordinates point(shape.size(), 0);
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
        point[axis] = linear % shape[axis];
        linear /= shape[axis];
    }
    return point;
}

}  // namespace fluvial
