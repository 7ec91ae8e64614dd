// SPDX-License-Identifier: Apache-2.0
/// The logical map: a selection cut into units, each of which is read in one go, in file order.
///
/// Index spaces: a *selection's own* counts its elements along each axis from 0; *dataset* is the
/// coordinates of the joined dataset; *part* those of one of its files. With start, stride of the
/// selection and begin of the part along axis 0:
///     dataset = start + own · stride          part = dataset - begin (axis 0 only)
#pragma once

#include <functional>
#include <vector>

#include "fluvial/describe/selection.hpp"
#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

/// Gaps between selected bytes up to this length are read over: a call costs as much as copying
/// them (0.3 us against 15 GB/s).
inline constexpr Index gap_bytes_max = 4096;

/// How a box of an affine dataset is read: as spans that are contiguous in the file but for small
/// gaps, packed one behind the other.
struct Packing {
    int spans_axis = 0;      ///< axes before this one are iterated, a read each
    Index span_bytes = 0;    ///< of one read
    Coordinates strides;     ///< of the box in the buffer
    Index buffer_bytes = 0;  ///< of all spans
};

/// `step`: bytes in the file from one selected element to the next along each axis.
/// `gap_bytes`: longest gap that is read over.
Packing pack(const Coordinates& step, const Coordinates& extent, Index element_bytes,
             Index gap_bytes = gap_bytes_max);

/// One unit.
struct Unit {
    int part = 0;      ///< of the inputs
    Region box;        ///< in the selection's own index space
    Coordinates cell;  ///< of a chunked dataset: index of the chunk; else of the unit's grid
};

/// All units of a selection; unit i of size() is found in a few divisions. Immutable.
class UnitGrid {
  public:
    /// Along the layout of `input`. Memory: some numbers a part and axis.
    UnitGrid(const Input& input, const Selection& selection, Index buffer_bytes);

    Index size() const { return begins_.back(); }
    Unit unit(Index i) const;
    /// Calls f(first, end) for the ranges of units that hold a part of `box`, ascending; adjacent
    /// ones are one range as far as that is seen at once. The selection has no stride. `box` is not
    /// empty and in the selection's own index space.
    void for_runs(const Region& box, const std::function<void(Index first, Index end)>& f) const;

  private:
    /// How an axis is cut; cut i is computed from i.
    struct Axis {
        Index begin = 0, end = 0;  ///< in the selection's own index space
        Index extent = 1;          ///< of a cut; of a chunk where there are chunks
        bool chunked = false;
        Index first = 0,
              stride = 1;  ///< index i of the selection is first + i · stride in the part
        Index count = 0;   ///< of cuts

        Index cell_of(Index own) const { return (first + own * stride) / extent; }
        /// The first own index whose coordinate is in this chunk or behind it.
        Index first_in(Index cell) const;
        /// The cut that holds this own index.
        Index cut_of(Index own) const;
    };
    /// What one file contributes: the product of its axes' cuts.
    struct PartGrid {
        int part = 0;
        std::vector<Axis> axes;
    };

    /// How many units one step along an axis passes over.
    static Index units_behind(const PartGrid& grid, int axis);

    std::vector<PartGrid> parts_;
    std::vector<Index> begins_;  ///< first unit of each part, and the end
};

/// Extents of the chunks (or what is best read together); empty where there are none.
Coordinates chunk_of(const store::Layout& layout);

/// Of all parts together, at least one, whatever their dtypes. Throws InvalidArgument where the
/// shape of one does not fit the first.
Coordinates shape_of_all(const std::vector<DatasetPtr>& parts);

/// Of all parts together. Throws InvalidArgument where there are none, or one does not fit the
/// first in shape or dtype.
Coordinates joined_shape(const Input& input);

/// Where each part begins along axis 0, and the end. Scalars are one part at 0.
std::vector<Index> part_begins(const Input& input);

/// Bytes from one selected element to the next, in the file.
Coordinates byte_steps(const store::Affine& layout, const Coordinates& stride);

}  // namespace fluvial::scan
