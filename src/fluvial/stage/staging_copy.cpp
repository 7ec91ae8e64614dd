// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/staging_copy.hpp"

#include <cstdint>
#include <cstring>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/copy_methods.hpp"

namespace fluvial::stage {

void StagingCopy::operator()(const ArrayView& from, std::byte* to) {
    const std::size_t bytes = static_cast<std::size_t>(from.size()) * size_of(from.dtype);
    if (!from.is_contiguous()) {
        copy(from,
             {to, from.dtype, from.extent, contiguous_strides(from.extent, size_of(from.dtype))});
        return;
    }
    if (bytes < never_streamed_below) {
        if (bytes != 0) {
            std::memcpy(to, from.data, bytes);
        }
        return;
    }
    if (bytes >= always_streamed_from) {
        move::copy_past_caches(to, from.data, bytes);
        return;
    }
    const int way = [this] {
        const std::lock_guard lock(mutex_);
        return trial_.way();
    }();
    const std::int64_t begin_ns = now_ns();
    if (way == way_streamed) {
        move::copy_past_caches(to, from.data, bytes);
    } else {
        std::memcpy(to, from.data, bytes);
    }
    const auto elapsed_ns = static_cast<double>(now_ns() - begin_ns);
    const std::lock_guard lock(mutex_);
    trial_.took(1, elapsed_ns / static_cast<double>(bytes));
}

}  // namespace fluvial::stage
