// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/staging_copy.hpp"

#include <cstdint>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/copy_methods.hpp"

namespace fluvial::stage {

void StagingCopy::operator()(const ArrayView& from, const MutableArrayView& to) {
    const std::size_t bytes = static_cast<std::size_t>(from.size()) * size_of(from.dtype);
    const bool plain = from.dtype == to.dtype && from.extent == to.extent && from.is_contiguous() &&
                       to.strides == contiguous_strides(to.extent, size_of(to.dtype));
    if (!plain || bytes < never_streamed_below) {
        copy(from, to);
        return;
    }
    if (bytes >= always_streamed_from) {
        move::copy_past_caches(to.data, from.data, bytes);
        return;
    }
    const int way = [this] {
        const std::lock_guard lock(mutex_);
        return trial_.way();
    }();
    const std::int64_t begin_ns = now_ns();
    if (way == way_streamed) {
        move::copy_past_caches(to.data, from.data, bytes);
    } else {
        copy(from, to);
    }
    const auto elapsed_ns = static_cast<double>(now_ns() - begin_ns);
    const std::lock_guard lock(mutex_);
    trial_.took(1, elapsed_ns / static_cast<double>(bytes));
}

}  // namespace fluvial::stage
