// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/units.hpp"

#include <algorithm>

namespace fluvial::scan {
namespace {

constexpr Index alignment = 64;  ///< spans start on cache lines

Index rounded_up(Index bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

/// The largest boxes of a grid, outer axes cut first, that fit the buffer.
Coordinates box_extent(const Coordinates& step, const Coordinates& count, Index element_bytes,
                       Index buffer_bytes) {
    Coordinates extent = count;
    for (int axis = 0; axis < count.size(); ++axis) {
        if (pack(step, extent, element_bytes).buffer_bytes <= buffer_bytes) {
            break;
        }
        Coordinates one = extent;
        one[axis] = 1;
        const Index rest = pack(step, one, element_bytes).buffer_bytes;
        Index fitting = std::clamp<Index>(buffer_bytes / std::max<Index>(rest, 1), 1, count[axis]);
        // Neighbouring spans may share what lies between them: take as many as really fit.
        for (Index more = std::max<Index>(fitting / 2, 1); more > 0;) {
            Coordinates longer = extent;
            longer[axis] = std::min(fitting + more, count[axis]);
            const bool fits = pack(step, longer, element_bytes).buffer_bytes <= buffer_bytes;
            if (fits && longer[axis] > fitting) {
                fitting = longer[axis];
            } else {
                more /= 2;
            }
        }
        extent[axis] = fitting;
        if (fitting > 1) {
            break;
        }
    }
    return extent;
}

}  // namespace

Packing pack(const Coordinates& step, const Coordinates& extent, Index element_bytes) {
    Packing packing;
    packing.strides = Coordinates(extent.size(), 0);
    Index span = element_bytes;
    int axis = extent.size() - 1;
    for (; axis >= 0; --axis) {
        if (extent[axis] > 1) {
            if (step[axis] - span > gap_bytes_max) {
                break;
            }
            span += (extent[axis] - 1) * step[axis];
        }
        packing.strides[axis] = step[axis];
    }
    packing.spans_axis = axis + 1;
    packing.span_bytes = span;
    Index bytes = axis >= 0 ? rounded_up(span) : span;
    for (; axis >= 0; --axis) {
        packing.strides[axis] = bytes;
        bytes *= std::max<Index>(extent[axis], 1);
    }
    packing.buffer_bytes = bytes;
    return packing;
}

std::vector<Index> part_begins(const Input& input) {
    std::vector<Index> begins{0};
    for (const DatasetPtr& part : input.parts) {
        begins.push_back(begins.back() + (part->shape().empty() ? 1 : part->shape()[0]));
    }
    return begins;
}

Coordinates byte_steps(const store::Affine& layout, const Coordinates& stride) {
    Coordinates step = layout.strides;
    for (int axis = 0; axis < step.size(); ++axis) {
        step[axis] *= stride[axis];
    }
    return step;
}

UnitGrid::UnitGrid(const Input& input, const Selection& selection, Index buffer_bytes) {
    const std::vector<Index> begins = part_begins(input);
    const int ndim = selection.ndim();
    const auto element = static_cast<Index>(size_of(input.parts.front()->dtype()));
    begins_.push_back(0);
    for (std::size_t p = 0; p < input.parts.size(); ++p) {
        const store::Dataset& dataset = *input.parts[p];
        Region covered = whole(dataset.shape());
        if (ndim > 0) {
            covered.offset[0] = begins[p];
        }
        const std::optional<Region> inside = selected_within(selection, covered);
        if (!inside) {
            continue;
        }
        PartGrid grid{static_cast<int>(p),
                      std::vector<std::vector<Cut>>(static_cast<std::size_t>(ndim))};
        Coordinates chunk;
        if (const auto* chunked = std::get_if<store::Chunked>(&dataset.layout())) {
            chunk = chunked->chunk;
        } else if (const auto* library = std::get_if<store::ByLibrary>(&dataset.layout())) {
            chunk = library->granule;
        }
        Coordinates extent = inside->extent;
        if (chunk.empty()) {
            const auto* affine = std::get_if<store::Affine>(&dataset.layout());
            const store::Affine dense{
                0, contiguous_strides(dataset.shape(), size_of(dataset.dtype())), false};
            extent = box_extent(byte_steps(affine != nullptr ? *affine : dense, selection.stride),
                                extent, element, buffer_bytes);
        }
        Index units = 1;
        for (int axis = 0; axis < ndim; ++axis) {
            auto& cuts = grid.axes[static_cast<std::size_t>(axis)];
            const Index end = inside->offset[axis] + inside->extent[axis];
            const Index first = selection.start[axis] - (axis == 0 ? begins[p] : 0);
            for (Index at = inside->offset[axis]; at < end;) {
                Index next = std::min(at + extent[axis], end);
                Index cell = (at - inside->offset[axis]) / extent[axis];
                if (!chunk.empty()) {
                    cell = (first + at * selection.stride[axis]) / chunk[axis];
                    const Index left = (cell + 1) * chunk[axis] - first;  // first coordinate behind
                    next =
                        std::min(end, (left + selection.stride[axis] - 1) / selection.stride[axis]);
                }
                cuts.push_back({at, next, cell});
                at = next;
            }
            units *= static_cast<Index>(cuts.size());
        }
        parts_.push_back(std::move(grid));
        begins_.push_back(begins_.back() + units);
    }
}

Unit UnitGrid::unit(Index i) const {
    const auto found = std::upper_bound(begins_.begin(), begins_.end(), i) - 1;
    const PartGrid& grid = parts_[static_cast<std::size_t>(found - begins_.begin())];
    Index rest = i - *found;
    const int ndim = static_cast<int>(grid.axes.size());
    Unit unit{grid.part, {Coordinates(ndim, 0), Coordinates(ndim, 0)}, Coordinates(ndim, 0)};
    for (int axis = ndim - 1; axis >= 0; --axis) {
        const auto& cuts = grid.axes[static_cast<std::size_t>(axis)];
        const auto count = static_cast<Index>(cuts.size());
        const Cut& cut = cuts[static_cast<std::size_t>(rest % count)];
        rest /= count;
        unit.box.offset[axis] = cut.begin;
        unit.box.extent[axis] = cut.end - cut.begin;
        unit.cell[axis] = cut.cell;
    }
    return unit;
}

}  // namespace fluvial::scan
