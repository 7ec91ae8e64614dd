// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/units.hpp"

#include <algorithm>
#include <limits>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/index_walk.hpp"

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
        Index fitting = 1;
        for (Index beyond = count[axis] + 1; beyond - fitting > 1;) {
            Coordinates shorter = extent;
            shorter[axis] = fitting + (beyond - fitting) / 2;
            const bool fits = pack(step, shorter, element_bytes).buffer_bytes <= buffer_bytes;
            (fits ? fitting : beyond) = shorter[axis];
        }
        extent[axis] = fitting;
        if (fitting > 1) {
            break;
        }
    }
    return extent;
}

[[noreturn]] void refuse_to_join(const store::Dataset& part, const store::Dataset& first) {
    throw InvalidArgument(
        Problem{text("cannot join '", part.name(), "' of '", part.bytes().path(), "'"),
                text(name_of(part.dtype()), part.shape()),
                text(name_of(first.dtype()), first.shape(), " but for the first axis, as in '",
                     first.bytes().path(), "'"),
                ""});
}

}  // namespace

Packing pack(const Coordinates& step, const Coordinates& extent, Index element_bytes,
             Index gap_bytes) {
    Packing packing;
    packing.strides = Coordinates(extent.size(), 0);
    Index span = element_bytes;
    int axis = extent.size() - 1;
    for (; axis >= 0; --axis) {
        if (extent[axis] > 1) {
            if (step[axis] - span > gap_bytes) {
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

Coordinates chunk_of(const store::Layout& layout) {
    if (const auto* chunked = std::get_if<store::Chunked>(&layout)) {
        return chunked->chunk;
    }
    const auto* library = std::get_if<store::ByLibrary>(&layout);
    return library != nullptr ? library->granule : Coordinates();
}

Coordinates shape_of_all(const std::vector<DatasetPtr>& parts) {
    const store::Dataset& first = *parts.front();
    Coordinates shape = first.shape();
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const store::Dataset& part = *parts[i];
        Coordinates same = part.shape();
        const bool joins = !shape.empty() && same.size() == shape.size();
        if (joins) {
            same[0] = shape[0];
        }
        if (!joins || !(same == shape)) {
            refuse_to_join(part, first);
        }
        shape[0] += part.shape()[0];
    }
    return shape;
}

Coordinates joined_shape(const Input& input) {
    if (input.parts.empty()) {
        throw InvalidArgument(
            Problem{"an input of a scan is empty", "no dataset", "at least one", ""});
    }
    const Coordinates shape = shape_of_all(input.parts);
    for (const DatasetPtr& part : input.parts) {
        if (part->dtype() != input.parts.front()->dtype()) {
            refuse_to_join(*part, *input.parts.front());
        }
    }
    return shape;
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
        if (__builtin_mul_overflow(step[axis], stride[axis], &step[axis])) {
            step[axis] = std::numeric_limits<Index>::max();  // of one index: there is no next
        }
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
        PartGrid grid{static_cast<int>(p), {}};
        const Coordinates chunk = chunk_of(dataset.layout());
        Coordinates extent = chunk;
        if (chunk.empty()) {
            const auto* affine = std::get_if<store::Affine>(&dataset.layout());
            const store::Affine dense{
                0, contiguous_strides(dataset.shape(), size_of(dataset.dtype())), false};
            extent = box_extent(byte_steps(affine != nullptr ? *affine : dense, selection.stride),
                                inside->extent, element, buffer_bytes);
        }
        Index units = 1;
        for (int axis = 0; axis < ndim; ++axis) {
            Axis cuts{inside->offset[axis],
                      inside->offset[axis] + inside->extent[axis],
                      extent[axis],
                      !chunk.empty(),
                      selection.start[axis] - (axis == 0 ? begins[p] : 0),
                      selection.stride[axis],
                      0};
            if (!cuts.chunked) {
                cuts.count = (inside->extent[axis] + cuts.extent - 1) / cuts.extent;
            } else if (cuts.stride >= cuts.extent) {  // a chunk an index at most
                cuts.count = inside->extent[axis];
            } else {
                cuts.count = cuts.cell_of(cuts.end - 1) - cuts.cell_of(cuts.begin) + 1;
            }
            units *= cuts.count;
            grid.axes.push_back(cuts);
        }
        parts_.push_back(std::move(grid));
        begins_.push_back(begins_.back() + units);
    }
}

Index UnitGrid::Axis::first_in(Index cell) const {
    const Index before = cell * extent - first;
    return before <= 0 ? 0 : (before - 1) / stride + 1;
}

Index UnitGrid::Axis::cut_of(Index own) const {
    if (!chunked) {
        return (own - begin) / extent;
    }
    return stride >= extent ? own - begin : cell_of(own) - cell_of(begin);
}

void UnitGrid::for_runs(const Region& box,
                        const std::function<void(Index first, Index end)>& f) const {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const auto ndim = static_cast<int>(parts_[p].axes.size());
        Coordinates touched_cuts(ndim, 0), behind(ndim, 0);
        Index first = begins_[p];  // unit
        bool touched = true;
        int outer = ndim;  // axes from this one on are touched in one range
        Index length = 1;
        for (int axis = ndim - 1; axis >= 0; --axis) {
            const Axis& cuts = parts_[p].axes[static_cast<std::size_t>(axis)];
            const Index begin = std::max(cuts.begin, box.offset[axis]);
            const Index end = std::min(cuts.end, box.offset[axis] + box.extent[axis]);
            touched = touched && begin < end;
            if (!touched) {
                break;
            }
            const Index cut = cuts.cut_of(begin);
            touched_cuts[axis] = cuts.cut_of(end - 1) - cut + 1;
            behind[axis] = units_behind(parts_[p], axis);
            first += cut * behind[axis];
            if (outer == axis + 1 && length == behind[axis]) {
                outer = axis;
                length *= touched_cuts[axis];
            }
        }
        if (touched) {
            for_each_offset(
                touched_cuts.span().first(static_cast<std::size_t>(outer)),
                [&](Index units) { f(first + units, first + units + length); }, behind);
        }
    }
}

Index UnitGrid::units_behind(const PartGrid& grid, int axis) {
    Index units = 1;
    for (std::size_t inner = static_cast<std::size_t>(axis) + 1; inner < grid.axes.size();
         ++inner) {
        units *= grid.axes[inner].count;
    }
    return units;
}

Unit UnitGrid::unit(Index i) const {
    const auto found = std::upper_bound(begins_.begin(), begins_.end(), i) - 1;
    const PartGrid& grid = parts_[static_cast<std::size_t>(found - begins_.begin())];
    Index rest = i - *found;
    const int ndim = static_cast<int>(grid.axes.size());
    Unit unit{grid.part, {Coordinates(ndim, 0), Coordinates(ndim, 0)}, Coordinates(ndim, 0)};
    for (int axis = ndim - 1; axis >= 0; --axis) {
        const Axis& cuts = grid.axes[static_cast<std::size_t>(axis)];
        const Index number = rest % cuts.count;
        rest /= cuts.count;
        Index begin = cuts.begin + number * cuts.extent;
        Index end = std::min(begin + cuts.extent, cuts.end);
        unit.cell[axis] = number;
        if (cuts.chunked && cuts.stride >= cuts.extent) {
            begin = cuts.begin + number;
            end = begin + 1;
            unit.cell[axis] = cuts.cell_of(begin);
        } else if (cuts.chunked) {
            unit.cell[axis] = cuts.cell_of(cuts.begin) + number;
            begin = std::max(cuts.begin, cuts.first_in(unit.cell[axis]));
            end = std::min(cuts.end, cuts.first_in(unit.cell[axis] + 1));
        }
        unit.box.offset[axis] = begin;
        unit.box.extent[axis] = end - begin;
    }
    return unit;
}

}  // namespace fluvial::scan
