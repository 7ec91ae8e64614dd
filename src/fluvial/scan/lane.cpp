// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/lane.hpp"

#include <algorithm>

#include "fluvial/base/clock.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/scan/footprint.hpp"

namespace fluvial::scan {
namespace {

constexpr Index window_units = 64;  ///< that are put into file order together
/// Where the elements of a box of `selection` lie, without stride.
Region dataset_region(const Selection& selection, const Region& box) {
    Region region = box;
    for (int axis = 0; axis < box.ndim(); ++axis) {
        region.offset[axis] = selection.start[axis] + box.offset[axis] * selection.stride[axis];
        region.extent[axis] = (box.extent[axis] - 1) * selection.stride[axis] + 1;
    }
    return region;
}

/// Calls f with boxes of at most slab_bytes that make up `box`, in row-major order.
template <class F>
void for_slabs(const Region& box, Index element_bytes, F&& f) {
    Coordinates slab = box.extent;
    Index inner = box.volume() * element_bytes;
    for (int axis = 0; axis < box.ndim() && inner > slab_bytes; ++axis) {
        inner /= box.extent[axis];
        slab[axis] = std::clamp<Index>(slab_bytes / inner, 1, box.extent[axis]);
    }
    for_each_block(box.extent, slab, [&](Region part) {
        for (int axis = 0; axis < part.ndim(); ++axis) {
            part.offset[axis] += box.offset[axis];
        }
        f(part);
    });
}

}  // namespace

PartialResult Work::new_partial_result(const RankRequest& asked) const {
    if (one_result) {
        return PartialResult(sets, covered, over, own.backwards, groups);
    }
    return PartialResult(sets, asked.selection, over, asked.backwards,
                         asked.groups ? asked.groups->count : 1);
}

Lane::Lane(const Work& work)
    : work_(work),
      access_(work.access),
      prepare_(work.request, work.sets),
      partial_results_(work.one_result ? 1 : work.rank_requests.size()) {
    for (const Input& input : work.request.inputs) {
        fetches_.push_back(std::make_unique<Fetch>(input, work.selection, work.buffer_bytes,
                                                   work.read_ahead_bytes, work.window_bytes,
                                                   stats_));
    }
}

void Lane::run(Index begin, Index end, const std::atomic<bool>& stop, std::atomic<Index>& done) {
    std::vector<Unit> units;
    for (Index first = begin; first < end && !stop; first += window_units) {
        const Index count = std::min(window_units, end - first);
        units.clear();
        for (Index i = 0; i < count; ++i) {
            Unit unit = work_.grid.unit(first + i);
            if (work_.common || trim(unit)) {
                units.push_back(std::move(unit));
            }
        }
        done += count - static_cast<Index>(units.size());
        fetches_[work_.grid_input]->expect(units);
        for (const Unit& unit : units) {
            if (stop) {
                return;
            }
            compute_in_slabs(unit);
            ++done;
        }
    }
}

/// The part of a box of the grid that a request asks for, in the request's own index space.
std::optional<Region> Lane::inside(const RankRequest& rank_request, const Region& box) const {
    if (work_.common) {
        return box;
    }
    return selected_within(rank_request.selection, dataset_region(work_.selection, box));
}

/// Cuts off what no rank asks for; false when nothing is left.
bool Lane::trim(Unit& unit) const {
    std::optional<Region> wanted;
    for (const RankRequest& rank_request : work_.rank_requests) {
        const auto part = inside(rank_request, unit.box);
        if (!part) {
            continue;
        }
        Region region = dataset_region(rank_request.selection, *part);
        for (int axis = 0; axis < region.ndim(); ++axis) {
            region.offset[axis] -= work_.selection.start[axis];
            if (wanted) {
                const Index begin = std::min(region.offset[axis], wanted->offset[axis]);
                const Index end = std::max(region.offset[axis] + region.extent[axis],
                                           wanted->offset[axis] + wanted->extent[axis]);
                region.offset[axis] = begin;
                region.extent[axis] = end - begin;
            }
        }
        wanted = region;
    }
    if (wanted) {
        unit.box = *wanted;
    }
    return wanted.has_value();
}

/// A chunk is put together a slab at a time.
void Lane::compute_in_slabs(const Unit& unit) {
    const auto part = static_cast<std::size_t>(unit.part);
    if (!works_in_slabs(work_.request, work_.grid_input, part)) {
        compute(unit);
        return;
    }
    const store::Dataset& dataset = *work_.request.inputs[work_.grid_input].parts[part];
    Unit slab = unit;
    for_slabs(unit.box, static_cast<Index>(size_of(dataset.dtype())), [&](const Region& box) {
        slab.box = box;
        compute(slab);
    });
}

void Lane::compute(const Unit& unit) {
    const double read_before = stats_.read_s;
    const std::int64_t begin = now_ns();
    const bool in_place = access_.in_place();
    bool was_in_place = false;
    Index bytes = 0;
    stored_.clear();
    for (const auto& fetch : fetches_) {
        stored_.push_back(fetch->fetch(unit, in_place));
        was_in_place = was_in_place || fetch->was_in_place();
        bytes += stored_.back().size() * static_cast<Index>(size_of(stored_.back().dtype));
    }
    const Region all = dataset_region(work_.selection, unit.box);
    prepare_.run(stored_, work_.selection.is_dense() ? all : unit.box);
    for (std::size_t q = 0; q < work_.rank_requests.size(); ++q) {
        const RankRequest& rank_request = work_.rank_requests[q];
        const auto part = inside(rank_request, unit.box);
        if (!part) {
            continue;
        }
        auto& partial_result = partial_results_[work_.one_result ? 0 : q];
        if (!partial_result) {
            partial_result.emplace(work_.new_partial_result(rank_request));
        }
        stats_.elements += part->volume() * static_cast<Index>(stored_.size());
        if (work_.common) {
            partial_result->absorb(rank_request, *part, prepare_.values(), prepare_.masks());
            continue;
        }
        Region local = dataset_region(rank_request.selection, *part);
        for (int axis = 0; axis < local.ndim(); ++axis) {
            local.offset[axis] -= all.offset[axis];
        }
        prepare_.select(local, rank_request.selection.stride);
        partial_result->absorb(rank_request, *part, prepare_.selected_values(),
                               prepare_.selected_masks());
    }
    for (const auto& fetch : fetches_) {
        fetch->check();
    }
    const std::int64_t elapsed = now_ns() - begin;
    if (was_in_place == in_place) {
        access_.took(bytes, elapsed);
    }
    stats_.compute_s += static_cast<double>(elapsed) * 1e-9 - (stats_.read_s - read_before);
}

}  // namespace fluvial::scan
