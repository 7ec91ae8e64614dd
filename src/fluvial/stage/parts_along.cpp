// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/parts_along.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint32_t parts_max = 1u << 20;

Region hull_of(const Region& a, const Region& b) {
    Region hull = a;
    for (int axis = 0; axis < a.ndim(); ++axis) {
        const Index end =
            std::max(a.offset[axis] + a.extent[axis], b.offset[axis] + b.extent[axis]);
        hull.offset[axis] = std::min(a.offset[axis], b.offset[axis]);
        hull.extent[axis] = end - hull.offset[axis];
    }
    return hull;
}

}  // namespace

void DataAlong::follow(const StepForm& form) {
    if (form.layout == layout_) {
        return;
    }
    layout_ = form.layout;
    pieces_.clear();
    bytes_ = 0;
    for (const RecordReader::Trail& trail : form.trails) {
        for (const RecordReader::Placed& placed : trail) {
            const DType dtype = placed.dataset->dtype;
            const std::uint64_t bytes = bytes_of(placed.dataset->chunks[placed.chunk], dtype);
            const std::uint64_t multiple =
                bytes > part_inside_max ? part_alignment : size_of(dtype);
            const std::uint64_t at = (bytes_ + multiple - 1) / multiple * multiple;
            pieces_.push_back({at, bytes});
            bytes_ = at + bytes;
        }
    }
}

void put(ByteWriter& out, const Region& region) {
    out.put<std::uint8_t>(static_cast<std::uint8_t>(region.ndim()));
    for (int axis = 0; axis < region.ndim(); ++axis) {
        out.put(region.offset[axis]);
        out.put(region.extent[axis]);
    }
}

Region get_region(ByteReader& in) {
    const int ndim = in.get<std::uint8_t>();
    if (ndim > ndim_max) {
        throw Error("a region that another host names has more axes than there are");
    }
    Region region{Coordinates(ndim, 0), Coordinates(ndim, 0)};
    for (int axis = 0; axis < ndim; ++axis) {
        region.offset[axis] = in.get<Index>();
        region.extent[axis] = in.get<Index>();
    }
    return region;
}

void put(ByteWriter& out, const std::vector<PartAlong>& parts) {
    out.put(static_cast<std::uint32_t>(parts.size()));
    for (const PartAlong& part : parts) {
        out.put(part.chunk);
        put(out, part.region);
        put(out, part.box);
    }
}

std::vector<PartAlong> get_parts(ByteReader& in) {
    const auto count = in.get<std::uint32_t>();
    if (count > parts_max) {
        throw Error("a reader on another host wants too many parts of a step");
    }
    std::vector<PartAlong> parts;
    for (std::uint32_t i = 0; i < count; ++i) {
        PartAlong part;
        part.chunk = in.get<std::uint32_t>();
        part.region = get_region(in);
        part.box = get_region(in);
        check_inside(part.box, part.region.extent, {"a part that is wanted of", "a chunk"});
        if (!parts.empty() && parts.back().chunk >= part.chunk) {
            throw Error("a reader on another host wants parts in no order");
        }
        parts.push_back(part);
    }
    return parts;
}

void PartsRead::note(std::uint32_t chunk, const Region& region, const Region& box) {
    const auto [found, is_new] = parts_.try_emplace(chunk, Part{region, box, box.volume()});
    if (!is_new && !contains(found->second.hull, box)) {
        found->second.hull = hull_of(found->second.hull, box);
        found->second.volume += box.volume();
    }
}

std::vector<PartAlong> PartsRead::parts() const {
    std::vector<PartAlong> parts;
    for (const auto& [chunk, part] : parts_) {
        if (part.hull.volume() <= part.volume) {
            parts.push_back({chunk, part.region, part.hull});
        }
    }
    return parts;
}

}  // namespace fluvial::stage
