// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/packed.hpp"

#include <new>

namespace fluvial::move {

PackedBytes packed(const ArrayView& view, std::shared_ptr<const void> owner) {
    const std::size_t item = size_of(view.dtype);
    const std::size_t bytes = static_cast<std::size_t>(view.size()) * item;
    if (view.is_contiguous()) {
        return {{view.data, bytes}, std::move(owner)};
    }
    constexpr std::align_val_t alignment{64};
    const std::shared_ptr<std::byte> memory(
        static_cast<std::byte*>(::operator new(bytes, alignment)),
        [](std::byte* p) { ::operator delete(p, alignment); });
    copy(view, {memory.get(), view.dtype, view.extent, contiguous_strides(view.extent, item)});
    return {{memory.get(), bytes}, memory};
}

}  // namespace fluvial::move
