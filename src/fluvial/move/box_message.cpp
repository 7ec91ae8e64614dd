// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/box_message.hpp"

namespace fluvial::move {

void BoxMessage::add(std::size_t array, const Region& inside, std::size_t element_bytes) {
    const std::size_t bytes = static_cast<std::size_t>(inside.volume()) * element_bytes;
    boxes_.push_back({array, inside, bytes});
    bytes_ += bytes;
}

BoxMessage::Memory BoxMessage::buffer() {
    if (!buffer_) {
        buffer_ = std::make_shared_for_overwrite<std::byte[]>(bytes_);
    }
    return {{buffer_.get(), bytes_}, buffer_, false};
}

BoxMessage::Bytes BoxMessage::gather(std::span<const HeldArray> arrays) {
    if (boxes_.size() == 1) {
        const HeldArray& array = arrays[boxes_.front().array];
        const ArrayView part = subview(array.view, boxes_.front().inside);
        if (part.is_contiguous()) {
            return {{part.data, bytes_}, array.owner};
        }
    }
    const Memory packed = buffer();
    std::byte* next = packed.bytes.data();
    for (const Box& box : boxes_) {
        const ArrayView part = subview(arrays[box.array].view, box.inside);
        copy(part,
             {next, part.dtype, part.extent, contiguous_strides(part.extent, size_of(part.dtype))});
        next += box.bytes;
    }
    return {packed.bytes, packed.owner};
}

BoxMessage::Memory BoxMessage::memory(std::span<const WantedArray> arrays) {
    if (boxes_.size() == 1) {
        const WantedArray& array = arrays[boxes_.front().array];
        const MutableArrayView part = subview(array.view, boxes_.front().inside);
        if (ArrayView(part).is_contiguous()) {
            return {{part.data, bytes_}, array.owner, true};
        }
    }
    return buffer();
}

void BoxMessage::scatter(std::span<const std::byte> message,
                         std::span<const WantedArray> arrays) const {
    const std::byte* next = message.data();
    for (const Box& box : boxes_) {
        const MutableArrayView part = subview(arrays[box.array].view, box.inside);
        copy(ArrayView(next, part.dtype, part.extent), part);
        next += box.bytes;
    }
}

void copy_boxes(const BoxMessage& source, std::span<const HeldArray> from, const BoxMessage& target,
                std::span<const WantedArray> to) {
    for (std::size_t i = 0; i < source.boxes_.size(); ++i) {
        const BoxMessage::Box &box = source.boxes_[i], &place = target.boxes_[i];
        copy(subview(from[box.array].view, box.inside),
             subview(to[place.array].view, place.inside));
    }
}

}  // namespace fluvial::move
