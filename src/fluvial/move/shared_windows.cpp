// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/shared_windows.hpp"

#include <algorithm>

namespace fluvial::move {
namespace {

/// The slab in which a piece of a box lies, as it is known to all ranks.
WindowKey key_of(const StepOnHost& from, const MemoryOnHost& place, const Region& slab) {
    WindowKey key;
    key.step = from.step;
    key.host = from.host;
    key.region = place.key;
    key.offset = place.offset;
    key.bytes = place.bytes;
    std::copy(slab.offset.begin(), slab.offset.end(), key.slab.begin());
    std::copy(slab.extent.begin(), slab.extent.end(), key.slab.begin() + ndim_max);
    return key;
}

class SlabCutting {
  public:
    SlabCutting(const StepOnHost& from, WindowsOfBoxes& out) : from_(from), out_(out) {}

    void add(const RemoteBox& box) {
        const std::uint64_t bytes = box.bytes();
        if (bytes < shared_bytes_min || box.box.ndim() == 0) {
            if (bytes > 0) {
                out_.others.push_back(box);
            }
            return;
        }
        if (box.place.checksum != 0) {
            out_.windows.push_back(
                {{key_of(from_, box.place, box.box), 0, bytes, from_.for_all}, box});
            return;
        }
        int axis = box.box.ndim() - 1;
        std::uint64_t row_bytes = box.item_bytes;
        while (axis > 0 && row_bytes * extent_of(box, axis) <= shared_window_bytes) {
            row_bytes *= extent_of(box, axis);
            --axis;
        }
        Index leads = 1;
        for (int outer = 0; outer < axis; ++outer) {
            leads *= box.box.extent[outer];
        }
        for (Index lead = 0; lead < leads; ++lead) {
            cut(lead_of(box, axis, lead, row_bytes), axis, row_bytes);
        }
    }

  private:
    static std::uint64_t extent_of(const RemoteBox& box, int axis) {
        return static_cast<std::uint64_t>(box.box.extent[axis]);
    }
    /// The part of the box at one index along each axis before `axis`.
    static RemoteBox lead_of(const RemoteBox& box, int axis, Index lead, std::uint64_t row_bytes) {
        RemoteBox part = box;
        part.to += static_cast<std::uint64_t>(lead) * extent_of(box, axis) * row_bytes;
        for (int outer = axis - 1; outer >= 0; --outer) {
            part.box.offset[outer] += lead % box.box.extent[outer];
            part.box.extent[outer] = 1;
            lead /= box.box.extent[outer];
        }
        return part;
    }
    /// Slabs begin at multiples of their thickness, whatever the box.
    void cut(const RemoteBox& part, int axis, std::uint64_t row_bytes) {
        const auto thick = static_cast<Index>(shared_window_bytes / row_bytes);
        const Index begin = part.box.offset[axis];
        const Index end = begin + part.box.extent[axis];
        for (Index row = begin; row < end;) {
            const Index slab = row / thick * thick;
            const Index rows = std::min(slab + thick, end) - row;
            RemoteBox piece = part;
            piece.box.offset[axis] = row;
            piece.box.extent[axis] = rows;
            piece.to += static_cast<std::uint64_t>(row - begin) * row_bytes;
            Region whole = piece.box;
            whole.offset[axis] = slab;
            whole.extent[axis] = thick;
            put(piece, whole, static_cast<std::uint64_t>(row - slab) * row_bytes);
            row += rows;
        }
    }
    void put(const RemoteBox& piece, const Region& slab, std::uint64_t first) {
        if (piece.bytes() < shared_bytes_min) {
            out_.others.push_back(piece);
        } else {
            out_.windows.push_back(
                {{key_of(from_, piece.place, slab), first, piece.bytes(), from_.for_all}, piece});
        }
    }

    StepOnHost from_;
    WindowsOfBoxes& out_;
};

}  // namespace

WindowsOfBoxes shared_windows(const StepOnHost& from, std::span<const RemoteBox> boxes) {
    WindowsOfBoxes out;
    SlabCutting cutting(from, out);
    for (const RemoteBox& box : boxes) {
        cutting.add(box);
    }
    return out;
}

}  // namespace fluvial::move
