// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <new>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/assemble.hpp"
#include "fluvial/stage/reader_state.hpp"
#include "fluvial/stage/step_queue.hpp"

namespace fluvial::stage {
namespace {

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
    constexpr std::align_val_t alignment{64};
    auto* memory =
        static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), alignment));
    return {memory, [](std::byte* p) { ::operator delete(p, alignment); }};
}

Region in_chunk(const Region& global, const Chunk& chunk) {
    Region local = global;
    for (int axis = 0; axis < local.ndim(); ++axis) {
        local.offset[axis] -= chunk.region.offset[axis];
    }
    return local;
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
/// selection's extent.
void gather(const Part& part, const std::byte* data, const Selection& selection, DType dtype,
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
    const ArrayView chunk(data, dtype, part.chunk->region.extent);
    copy(every(subview(chunk, in_chunk(sparse.bounds(), *part.chunk)), selection.stride),
         subview(to, *mine));
}

}  // namespace

Lease::~Lease() {
    if (seat->made.inherited()) {
        return;  // it is the parent's
    }
    try {
        const ControlLock lock(seat->control);
        release_lease(seat->control, seat->cell, slot);
    } catch (const Error&) {
        // A peer is stopped inside its critical section. The lease goes with the seat.
    }
}

StagedDataset::StagedDataset(std::string name, const DatasetRecord& record,
                             std::shared_ptr<Source> source)
    : name_(std::move(name)), record_(&record), source_(std::move(source)) {}

Data StagedDataset::read(const Selection& selection) const {
    const std::shared_ptr<const void> held = source_->hold(name_);
    check_inside(selection, shape(), {"selection of", name_});
    const Region bounds = selection.bounds();
    const auto bytes = static_cast<std::uint64_t>(volume_of(selection.count)) * size_of(dtype());
    if (const Chunk* chunk = bounds.empty() ? nullptr : only_source(chunks(), bounds)) {
        auto [data, owner] = source_->memory_of(name_, *chunk, held);
        const ArrayView all(data, dtype(), chunk->region.extent);
        source_->counters->bytes_viewed += bytes;
        return {every(subview(all, in_chunk(bounds, *chunk)), selection.stride), std::move(owner),
                false};
    }
    const auto parts = assemble(name_, chunks(), bounds);
    const std::int64_t begin_ns = now_ns();
    auto memory = allocate(bytes);
    const MutableArrayView to{memory.get(), dtype(), selection.count,
                              contiguous_strides(selection.count, size_of(dtype()))};
    for (const Part& part : parts) {
        const auto memory_of_part = source_->memory_of(name_, *part.chunk, held);
        gather(part, memory_of_part.data, selection, dtype(), to);
    }
    source_->counters->bytes_copied += bytes;
    source_->counters->copy_ns += now_ns() - begin_ns;
    return {to, std::move(memory), true};
}

}  // namespace fluvial::stage
