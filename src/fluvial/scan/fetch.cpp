// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/fetch.hpp"

#include <algorithm>

#include "fluvial/describe/index_walk.hpp"

namespace fluvial::scan {

Fetch::Fetch(const Input& input, const Selection& selection, Index buffer_bytes,
             Index read_ahead_bytes, Index window_bytes, Stats& stats)
    : input_(input),
      selection_(selection),
      begins_(part_begins(input)),
      buffer_bytes_(buffer_bytes),
      reader_(read_ahead_bytes, window_bytes, stats),
      chunks_(input, buffer_bytes, reader_, stats) {}

void Fetch::expect(std::vector<Unit>& units) {
    const auto chunked = [&](const Unit& unit) {
        const auto& layout = input_.parts[static_cast<std::size_t>(unit.part)]->layout();
        return std::holds_alternative<store::Chunked>(layout);
    };
    if (std::all_of(units.begin(), units.end(), chunked)) {
        chunks_.expect(units);
    }
}

ArrayView Fetch::fetch(const Unit& unit, bool in_place) {
    in_place_ = in_place;
    was_in_place_ = false;
    const store::Dataset& dataset = *input_.parts[static_cast<std::size_t>(unit.part)];
    Region inside = unit.box;  // coordinates of the part; without stride
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        const Index stride = selection_.stride[axis];
        inside.offset[axis] = selection_.start[axis] + unit.box.offset[axis] * stride;
        inside.offset[axis] -= axis == 0 ? begins_[static_cast<std::size_t>(unit.part)] : 0;
        inside.extent[axis] = (unit.box.extent[axis] - 1) * stride + 1;
    }
    if (const auto* layout = std::get_if<store::Affine>(&dataset.layout())) {
        return affine(dataset.bytes(), dataset.dtype(), *layout, inside.offset, unit.box.extent);
    }
    if (std::holds_alternative<store::Chunked>(dataset.layout())) {
        if (const auto direct = chunks_.direct(unit.part, inside)) {
            return affine(direct->file, dataset.dtype(), direct->layout, direct->first,
                          unit.box.extent);
        }
        const ArrayView view = chunks_.fetch(unit.part, inside, selection_.stride, in_place);
        was_in_place_ = chunks_.was_in_place();
        return view;
    }
    return by_library(dataset, inside);
}

ArrayView Fetch::affine(const store::InputFile& file, DType dtype, const store::Affine& layout,
                        const Coordinates& first, const Coordinates& extent) {
    const auto element = static_cast<Index>(size_of(dtype));
    const Coordinates step = byte_steps(layout, selection_.stride);
    Packing packing = pack(step, extent, element);
    if (packing.buffer_bytes > std::max(buffer_bytes_, volume_of(extent) * element)) {
        packing = pack(step, extent, element, 0);  // units that follow another input's chunks
    }
    std::uint64_t offset = layout.offset;
    Index spans = 1, range = element;  // in the file, from the first element to the last
    for (int axis = 0; axis < first.size(); ++axis) {
        offset += static_cast<std::uint64_t>(first[axis] * layout.strides[axis]);
        spans *= axis < packing.spans_axis ? extent[axis] : 1;
        range += (extent[axis] - 1) * step[axis];
    }
    if (in_place_) {
        if (const std::byte* const seen = reader_.look(
                file, offset, static_cast<std::uint64_t>(range), spans * packing.span_bytes)) {
            was_in_place_ = true;
            chunks_.forget_place();
            ArrayView view(seen, dtype, extent, step);
            view.swapped = layout.swapped;
            return view;
        }
    }
    if (static_cast<Index>(buffer_.size()) < packing.buffer_bytes) {
        buffer_.resize(static_cast<std::size_t>(packing.buffer_bytes));
    }
    const auto read_span = [&](Index from, Index to) {
        reader_.read(file, offset + static_cast<std::uint64_t>(from),
                     {buffer_.data() + to, static_cast<std::size_t>(packing.span_bytes)});
    };
    for_each_offset(extent.span().first(static_cast<std::size_t>(packing.spans_axis)), read_span,
                    step, packing.strides);
    ArrayView view(buffer_.data(), dtype, extent, packing.strides);
    view.swapped = layout.swapped;
    return view;
}

/// Dense regions along the inner axes, one call for each index of the outer ones.
ArrayView Fetch::by_library(const store::Dataset& dataset, const Region& inside) {
    const auto element = static_cast<Index>(size_of(dataset.dtype()));
    const Coordinates& stride = selection_.stride;
    Coordinates extent = inside.extent;  // of the selected elements
    Index dense_bytes = element;
    int outer = inside.ndim();  // axes before this one are iterated
    for (; outer > 0; --outer) {
        const int axis = outer - 1;
        if (dense_bytes * inside.extent[axis] > buffer_bytes_ && stride[axis] > 1) {
            break;
        }
        dense_bytes *= inside.extent[axis];
    }
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        extent[axis] = (inside.extent[axis] - 1) / stride[axis] + 1;
    }
    Region part = inside;
    Coordinates held = inside.extent;  // in the buffer
    for (int axis = 0; axis < outer; ++axis) {
        part.extent[axis] = 1;
        held[axis] = extent[axis];
    }
    const std::size_t bytes = static_cast<std::size_t>(volume_of(held) * element);
    if (buffer_.size() < bytes) {
        buffer_.resize(bytes);
    }
    const MutableArrayView to{buffer_.data(), dataset.dtype(), held,
                              contiguous_strides(held, static_cast<std::size_t>(element))};
    Region into{Coordinates(inside.ndim(), 0), part.extent};
    for_each_index(held.span().first(static_cast<std::size_t>(outer)), [&](const Coordinates& at) {
        for (int axis = 0; axis < outer; ++axis) {
            into.offset[axis] = at[axis];
            part.offset[axis] = inside.offset[axis] + at[axis] * stride[axis];
        }
        dataset.read(part, subview(to, into));
    });
    Coordinates step = stride;
    std::fill(step.begin(), step.begin() + outer, 1);
    return every(to, step);
}

}  // namespace fluvial::scan
