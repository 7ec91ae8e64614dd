// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/remote_request.hpp"

#include "fluvial/base/finer_errors.hpp"

namespace fluvial::move {
namespace {

enum class Verdict : std::uint8_t { Error, Good };

constexpr std::uint32_t boxes_max = 1u << 24;

void encode(ByteWriter& out, const RemoteBox& box) {
    out.put(box.place);
    out.put(box.item_bytes);
    out.put<std::uint8_t>(static_cast<std::uint8_t>(box.extent.size()));
    for (int axis = 0; axis < box.extent.size(); ++axis) {
        out.put(box.extent[axis]);
        out.put(box.box.offset[axis]);
        out.put(box.box.extent[axis]);
    }
}

RemoteBox decode_box(ByteReader& in) {
    RemoteBox box;
    box.place = in.get<MemoryOnHost>();
    box.item_bytes = in.get<std::uint32_t>();
    const int ndim = in.get<std::uint8_t>();
    if (ndim > ndim_max || box.item_bytes == 0) {
        throw Error("a request for data of another host makes no sense");
    }
    box.extent = Coordinates(ndim, 0);
    box.box = {Coordinates(ndim, 0), Coordinates(ndim, 0)};
    for (int axis = 0; axis < ndim; ++axis) {
        box.extent[axis] = in.get<Index>();
        box.box.offset[axis] = in.get<Index>();
        box.box.extent[axis] = in.get<Index>();
    }
    check_inside(box.box, box.extent, {"a box that is asked for of", "another host"});
    std::uint64_t bytes = box.item_bytes;
    for (const Index extent : box.extent) {
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) {
            bytes = box.place.bytes + 1;
            break;
        }
    }
    if (bytes != box.place.bytes) {
        throw Error("a request for data of another host does not fit the memory that it names");
    }
    return box;
}

/// Elements of that size, whatever they are.
DType element_of(std::uint32_t item_bytes) {
    for (const DType dtype :
         {DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64, DType::Complex128}) {
        if (size_of(dtype) == item_bytes) {
            return dtype;
        }
    }
    throw Error(Problem{"elements of another host have a size that none has",
                        text(item_bytes, " bytes"), "1, 2, 4, 8, 16", ""});
}

}  // namespace

Bytes encode_request(std::span<const RemoteBox> boxes) {
    ByteWriter out;
    out.put<std::uint32_t>(static_cast<std::uint32_t>(boxes.size()));
    for (const RemoteBox& box : boxes) {
        encode(out, box);
    }
    return out.take();
}

std::deque<RequestedBox> requested_boxes(const Bytes& request, Exposed& exposed) {
    std::deque<RequestedBox> boxes;
    ByteReader in(request);
    const auto count = in.get<std::uint32_t>();
    if (count > boxes_max) {
        throw Error("a request for data of another host names too many boxes");
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        const RemoteBox box = decode_box(in);
        if (box.bytes() == 0) {
            continue;
        }
        Exposed::Memory memory = exposed.memory_of(box.place);
        const ArrayView all(memory.data, element_of(box.item_bytes), box.extent);
        boxes.push_back({subview(all, box.box), std::move(memory.owner)});
    }
    return boxes;
}

std::deque<PackedBytes> requested_parts(const Bytes& request, Exposed& exposed) {
    std::deque<PackedBytes> parts;
    for (RequestedBox& box : requested_boxes(request, exposed)) {
        parts.push_back(packed(box.view, std::move(box.owner)));
    }
    return parts;
}

void put_granted(ByteWriter& out) {
    out.put(Verdict::Good);
}

Bytes encode_refusal(const Error& error) {
    ByteWriter out;
    out.put(Verdict::Error);
    out.put_string(error.kind());
    out.put_string(error.what());
    return out.take();
}

Bytes encode_refusal(const std::bad_alloc&) {
    return encode_refusal(
        Error(Problem{"the owner of data on another host has no memory to give it", "", "",
                      "Read less at a time, or contiguous parts"}));
}

void check_granted(ByteReader& in) {
    if (in.get<Verdict>() == Verdict::Error) {
        const std::string kind = in.get_string();
        throw_error(kind, in.get_string());
    }
}

}  // namespace fluvial::move
