// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A.2.i, The Data Layout Message; for
// version 5, which differs from version 4 in what chunk indices keep, H5Olayout.c of HDF5 2.0.
#include "fluvial/store/hdf5/chunking.hpp"

#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/messages.hpp"

namespace fluvial::store {

namespace {

constexpr std::uint64_t layout_version_max = 5;

/// Whether a layout message of version 3 or later is as long as its class needs.
bool has_place(std::uint64_t kind, std::span<const std::byte> layout, const Hdf5Sizes& sizes) {
    enum Class : std::uint64_t { compact, contiguous, chunked, parts_of_others };
    Front in(layout);
    in.take(2);
    switch (kind) {
        case compact:
            in.take(in.number(2));
            break;
        case contiguous:
            in.take(sizes.address_bytes + sizes.length_bytes);
            break;
        case parts_of_others:
            in.take(sizes.address_bytes + 4);
            break;
        default:
            break;  // libhdf5 refuses what it does not know
    }
    return in.good();
}

}  // namespace

Hdf5Chunking decode_chunking(std::span<const std::byte> layout, const Hdf5Sizes& sizes) {
    constexpr std::uint64_t chunked = 2;
    Front in(layout);
    Hdf5Chunking chunking;
    const auto version = in.number(1);
    if (version > layout_version_max) {
        chunking.known = false;
        return chunking;
    }
    auto kind = in.number(1);
    std::uint64_t axes = kind;  // in the first two versions it comes before the class
    std::size_t extent_bytes = 4;
    if (version <= 2) {
        kind = in.number(1);
        in.take(5);
    } else {
        in.take(version == 3 ? 0 : 1);
        axes = in.number(1);
    }
    if (version <= 3) {
        chunking.tree = in.number(sizes.address_bytes);
    } else {
        extent_bytes = in.number(1);
    }
    if (kind != chunked) {
        chunking.tree.reset();
        chunking.good = version < 3 || has_place(kind, layout, sizes);
        return chunking;
    }
    constexpr std::uint64_t axes_max = 33;  // the last one is the bytes of an element
    chunking.good = axes > 1 && axes <= axes_max && extent_bytes > 0 && extent_bytes <= 8;
    for (std::uint64_t axis = 0; axis < axes && chunking.good; ++axis) {
        chunking.extents.push_back(in.number(extent_bytes));
        chunking.good = in.good() && chunking.extents.back() > 0;
    }
    return chunking;
}

Hdf5Chunking chunking_at(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address) {
    std::optional<Hdf5Chunking> found;
    for_each_message(file, sizes, address, [&](const Hdf5Message& message) -> const char* {
        if (message.kind == Hdf5MessageKind::Layout && !message.shared && !found) {
            found = decode_chunking(message.body, sizes);
        }
        return nullptr;
    });
    return found.value_or(Hdf5Chunking());
}

std::uint64_t chunk_bytes(const Hdf5Chunking& chunking) {
    std::uint64_t bytes = chunking.extents.empty() ? 0 : 1;
    for (const std::uint64_t extent : chunking.extents) {
        if (__builtin_mul_overflow(bytes, extent, &bytes)) {
            return 0;
        }
    }
    return bytes;
}

}  // namespace fluvial::store
