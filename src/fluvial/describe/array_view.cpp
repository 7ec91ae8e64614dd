// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/array_view.hpp"

#include <cstring>

#include "fluvial/base/assert.hpp"
#include "fluvial/describe/index_walk.hpp"

namespace fluvial {
namespace {

/// One axis of a copy, after neighbouring axes that are contiguous with each other on both sides
/// were fused.
struct Loop {
    Index count;
    Index from_stride;
    Index to_stride;
};

template <std::size_t Bytes>
void copy_line(const std::byte* from, std::byte* to, const Loop& line) {
    for (Index i = 0; i < line.count; ++i) {
        std::memcpy(to + i * line.to_stride, from + i * line.from_stride, Bytes);
    }
}

/// The innermost axis, `element` bytes a piece.
void copy_innermost(const std::byte* from, std::byte* to, const Loop& line, Index element) {
    switch (element) {
        case 1:
            return copy_line<1>(from, to, line);
        case 2:
            return copy_line<2>(from, to, line);
        case 4:
            return copy_line<4>(from, to, line);
        case 8:
            return copy_line<8>(from, to, line);
        case 16:
            return copy_line<16>(from, to, line);
        default:
            for (Index i = 0; i < line.count; ++i) {
                std::memcpy(to + i * line.to_stride, from + i * line.from_stride,
                            static_cast<std::size_t>(element));
            }
    }
}

/// Fused loops, innermost first; `element` grows while the innermost axes are contiguous on both
/// sides.
int fuse(const ArrayView& from, const MutableArrayView& to, Loop* loops, Index& element) {
    int depth = 0;
    for (int axis = from.ndim() - 1; axis >= 0; --axis) {
        const Loop next{from.extent[axis], from.strides[axis], to.strides[axis]};
        if (next.count == 1) {
            continue;
        }
        if (depth == 0 && next.from_stride == element && next.to_stride == element) {
            element *= next.count;
        } else if (depth > 0 &&
                   next.from_stride == loops[depth - 1].from_stride * loops[depth - 1].count &&
                   next.to_stride == loops[depth - 1].to_stride * loops[depth - 1].count) {
            loops[depth - 1].count *= next.count;
        } else {
            loops[depth++] = next;
        }
    }
    return depth;
}

/// `loops` as of fuse(); two at least.
void copy_nested(const std::byte* from, std::byte* to, const Loop* loops, int depth,
                 Index element) {
    const int outer = depth - 1;
    Coordinates count(outer, 0), from_strides(outer, 0), to_strides(outer, 0);
    for (int axis = 0; axis < outer; ++axis) {
        const Loop& loop = loops[outer - axis];
        count[axis] = loop.count;
        from_strides[axis] = loop.from_stride;
        to_strides[axis] = loop.to_stride;
    }
    for_each_offset(
        count.span(),
        [&](Index a, Index b) { copy_innermost(from + a, to + b, loops[0], element); },
        from_strides, to_strides);
}

template <class View>
View subview_of(const View& view, const Region& inside) {
    FLUVIAL_ASSERT(contains(whole(view.extent), inside), view.extent, inside);
    View part = view;
    part.extent = inside.extent;
    part.data += offset_of(inside.offset, view.strides);
    return part;
}

}  // namespace

Coordinates contiguous_strides(const Coordinates& extent, std::size_t element_bytes) {
    Coordinates strides(extent.size(), 0);
    Index stride = static_cast<Index>(element_bytes);
    for (int axis = extent.size() - 1; axis >= 0; --axis) {
        strides[axis] = stride;
        stride *= std::max<Index>(extent[axis], 1);
    }
    return strides;
}

bool ArrayView::is_contiguous() const {
    return size() == 0 || contiguous_axes(*this).first == 0;
}

ArrayView subview(const ArrayView& view, const Region& inside) {
    return subview_of(view, inside);
}

MutableArrayView subview(const MutableArrayView& view, const Region& inside) {
    return subview_of(view, inside);
}

ArrayView every(const ArrayView& view, const Coordinates& step) {
    ArrayView sparse = view;
    for (int axis = 0; axis < view.ndim(); ++axis) {
        FLUVIAL_ASSERT(step[axis] >= 1, step);
        sparse.extent[axis] = (view.extent[axis] + step[axis] - 1) / step[axis];
        sparse.strides[axis] = view.strides[axis] * step[axis];
    }
    return sparse;
}

void check_copied_as_is(const ArrayView& data, std::string_view name) {
    if (data.swapped) {
        throw InvalidArgument(Problem{text("'", name, "' has elements in another byte order"),
                                      "a swapped view", "those of this machine", "Convert it"});
    }
    if (data.strides.size() != data.extent.size()) {
        throw InvalidArgument(Problem{text("'", name, "' has not one stride for each axis"),
                                      text("strides ", data.strides, " of elements ", data.extent),
                                      "as many, in bytes",
                                      "Leave the strides out where the elements lie side by side"});
    }
    if (data.data == nullptr && data.size() > 0) {
        throw InvalidArgument(Problem{text("the elements of '", name, "' are missing"),
                                      text("a null pointer, of shape ", data.extent),
                                      "the address of the first element",
                                      "Leave the call out on ranks that have none, or pass an "
                                      "extent of 0"});
    }
}

void copy(const ArrayView& from, const MutableArrayView& to) {
    if (from.dtype != to.dtype || !(from.extent == to.extent)) {
        throw InvalidArgument(
            Problem{"cannot copy between these arrays",
                    text(name_of(from.dtype), from.extent, " into ", name_of(to.dtype), to.extent),
                    "equal dtypes and extents", "Convert or slice one of them"});
    }
    if (from.size() == 0) {
        return;
    }
    Loop loops[ndim_max];
    Index element = static_cast<Index>(size_of(from.dtype));
    const int depth = fuse(from, to, loops, element);
    if (depth == 0) {
        std::memcpy(to.data, from.data, static_cast<std::size_t>(element));
    } else if (depth == 1) {
        copy_innermost(from.data, to.data, loops[0], element);
    } else {
        copy_nested(from.data, to.data, loops, depth, element);
    }
}

}  // namespace fluvial
