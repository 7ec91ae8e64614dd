// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/byte_order.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/describe/index_walk.hpp"

namespace fluvial::store {
namespace {

template <class Word>
void swap_word(std::byte* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    word = reversed(word);
    std::memcpy(at, &word, sizeof word);
}

/// `count` elements of `Parts` words each, `stride` bytes apart.
template <class Word, int Parts>
void swap_line(std::byte* at, Index count, Index stride) {
    if (stride == static_cast<Index>(Parts * sizeof(Word))) {  // vectorised
        for (Index i = 0; i < count * Parts; ++i) {
            swap_word<Word>(at + i * static_cast<Index>(sizeof(Word)));
        }
        return;
    }
    for (Index i = 0; i < count; ++i) {
        for (int part = 0; part < Parts; ++part) {
            swap_word<Word>(at + i * stride + part * static_cast<int>(sizeof(Word)));
        }
    }
}

template <class Word, int Parts>
void swap_lines(const MutableArrayView& view) {
    const int outer = std::max(view.extent.size() - 1, 0);
    const bool scalar = view.extent.empty();
    const Index count = scalar ? 1 : view.extent[outer];
    const Index stride = scalar ? 0 : view.strides[outer];
    for_each_offset(
        view.extent.span().first(static_cast<std::size_t>(outer)),
        [&](Index at) { swap_line<Word, Parts>(view.data + at, count, stride); }, view.strides);
}

}  // namespace

void swap_bytes(const MutableArrayView& view) {
    if (volume_of(view.extent) == 0) {
        return;
    }
    const bool parts = is_complex(view.dtype);
    switch (size_of(view.dtype) / (parts ? 2 : 1)) {
        case 2:
            return swap_lines<std::uint16_t, 1>(view);
        case 4:
            return parts ? swap_lines<std::uint32_t, 2>(view) : swap_lines<std::uint32_t, 1>(view);
        case 8:
            return parts ? swap_lines<std::uint64_t, 2>(view) : swap_lines<std::uint64_t, 1>(view);
        default:
            return;  // single bytes have no order
    }
}

}  // namespace fluvial::store
