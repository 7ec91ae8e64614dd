// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/ring.hpp"

#include <new>

#include "fluvial/base/assert.hpp"
#include "fluvial/move/link.hpp"

namespace fluvial::move {

namespace {

/// Whole units, or for records any multiple of 8; room for the largest unit at least.
std::size_t ring_capacity(const LinkPlan& plan) {
    const std::size_t least = plan.varies ? plan.piece_bytes_max : plan.unit_bytes;
    const std::size_t capacity = plan.buffer_bytes / plan.unit_bytes * plan.unit_bytes;
    if (capacity < least) {
        throw InvalidArgument(Problem{"a stream's buffer is too small for one of its elements",
                                      text(plan.buffer_bytes, " bytes"),
                                      text(least, " bytes or more"),
                                      "Enlarge the buffer, to several elements if possible"});
    }
    return capacity;
}

}  // namespace

std::size_t ring_memory(const LinkPlan& plan) {
    return sizeof(RingControl) + ring_staging_bytes + (ring_capacity(plan) + 63) / 64 * 64;
}

void lay_ring(const LinkPlan& plan, std::span<std::byte> memory) {
    FLUVIAL_ASSERT(memory.size() >= ring_memory(plan), memory.size());
    auto* control = new (memory.data()) RingControl;
    control->capacity = ring_capacity(plan);
}

}  // namespace fluvial::move
