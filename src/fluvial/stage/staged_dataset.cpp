// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <new>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/assemble.hpp"
#include "fluvial/stage/reader_state.hpp"

namespace fluvial::stage {
namespace {

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    constexpr std::align_val_t alignment{64};
    auto* memory =
        static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), alignment));
    return {memory, [](std::byte* p) { ::operator delete(p, alignment); }};
}

/// The chunk that alone supplies the region: the last put that touches it must hold all of it.
const Chunk* only_source(const std::vector<Chunk>& chunks, const Region& region) {
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
        if (intersect(chunk->region, region)) {
            return contains(chunk->region, region) ? &*chunk : nullptr;
        }
    }
    return nullptr;
}

/// Copies the part of the selection that lies in `part` to its place in `to`, which has the
/// selection's extent. `data` holds the elements of `held`, which has all of the part.
void gather(const Part& part, const ArrayView& data, const Region& held, const Selection& selection,
            const MutableArrayView& to) {
    const auto mine = selected_within(selection, part.region);
    if (!mine) {
        return;
    }
    Selection sparse = selection;
    for (int axis = 0; axis < selection.ndim(); ++axis) {
        sparse.start[axis] += mine->offset[axis] * selection.stride[axis];
        sparse.count[axis] = mine->extent[axis];
    }
    copy(every(subview(data, within(sparse.bounds(), held)), selection.stride), subview(to, *mine));
}

/// The place of a part, where its elements lie together there; otherwise null.
std::byte* straight_to(const Part& part, const Selection& selection, const MutableArrayView& to) {
    if (!selection.is_dense()) {
        return nullptr;
    }
    const MutableArrayView place = subview(to, within(part.region, selection.bounds()));
    return ArrayView(place).is_contiguous() ? place.data : nullptr;
}

/// The parts of a selection from elsewhere, by one request: straight to their places where they lie
/// together there.
void fetch(const std::vector<Part>& parts, StepAccess& from, const Selection& selection,
           const MutableArrayView& to, const std::string& what) {
    const std::size_t item = size_of(to.dtype);
    std::vector<ChunkBox> boxes;
    std::vector<std::shared_ptr<std::byte>> aside(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Part& part = parts[i];
        std::byte* memory = straight_to(part, selection, to);
        if (memory == nullptr) {
            aside[i] = allocate(static_cast<std::size_t>(part.region.volume()) * item);
            memory = aside[i].get();
        }
        boxes.push_back({part.chunk, within(part.region, part.chunk->region), memory});
    }
    from.read(boxes, to.dtype, what);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (aside[i]) {
            gather(parts[i], {aside[i].get(), to.dtype, parts[i].region.extent}, parts[i].region,
                   selection, to);
        }
    }
}

}  // namespace

StagedDataset::StagedDataset(const DatasetDescription& description, std::shared_ptr<Source> source)
    : description_(&description), source_(std::move(source)) {}

Data StagedDataset::read(const Selection& selection) const {
    const std::shared_ptr<StepAccess> held = source_->hold(name());
    check_inside(selection, shape(), {"selection of", name()});
    const Region bounds = selection.bounds();
    const auto bytes = static_cast<std::uint64_t>(volume_of(selection.count)) * size_of(dtype());
    const Chunk* only = bounds.empty() ? nullptr : only_source(chunks(), bounds);
    if (only != nullptr &&
        (only->here() != nullptr || !held->reads_parts() || only->region == bounds)) {
        auto [data, owner] = source_->memory_of(*description_, *only, held);
        const ArrayView all(data, dtype(), only->region.extent);
        const bool from_elsewhere =
            held->reads_parts() && (only->here() == nullptr || held->came_along(*only));
        source_->counters->bytes_viewed += from_elsewhere ? 0 : bytes;
        return {every(subview(all, within(bounds, only->region)), selection.stride),
                std::move(owner), false};
    }
    const auto parts = assemble(name(), chunks(), bounds);
    const std::int64_t begin_ns = now_ns();
    auto memory = allocate(bytes);
    const MutableArrayView to{memory.get(), dtype(), selection.count,
                              contiguous_strides(selection.count, size_of(dtype()))};
    if (held->reads_parts()) {
        for (const Part& part : parts) {
            source_->counters->bytes_received += source_->bytes_elsewhere(
                *part.chunk, within(part.region, part.chunk->region), dtype(), *held);
        }
        fetch(parts, *held, selection, to, text("'", name(), "' in step ", source_->index));
    } else {
        for (const Part& part : parts) {
            const auto memory_of_part = source_->memory_of(*description_, *part.chunk, held);
            gather(part, {memory_of_part.data, dtype(), part.chunk->region.extent},
                   part.chunk->region, selection, to);
        }
    }
    source_->counters->bytes_copied += bytes;
    source_->counters->copy_ns += now_ns() - begin_ns;
    return {to, std::move(memory), true};
}

}  // namespace fluvial::stage
