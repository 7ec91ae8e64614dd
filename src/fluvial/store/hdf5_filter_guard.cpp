// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", IV.A.2.i and l, The Data Layout and the
// Data Storage - Filter Pipeline Message; parameters of filters as H5Zscaleoffset.c and H5Znbit.c
// set them.
#include "fluvial/store/hdf5_front.hpp"
#include "fluvial/store/hdf5_guard.hpp"

namespace fluvial::store {

namespace {

enum Filter : unsigned { nbit = 5, scale_offset = 6, first_of_others = 256 };

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

const char* check_filters(std::span<const std::byte> message, std::uint64_t& decoded_bytes) {
    constexpr const char* senseless = "filters that make no sense";
    Front in(message);
    const auto version = in.number(1), filters = in.number(1);
    in.take(version == 1 ? 6 : 0);
    for (std::uint64_t i = 0; i < filters; ++i) {
        const auto id = in.number(2);
        const auto name_bytes = version == 1 || id >= first_of_others ? in.number(2) : 0;
        in.take(2);
        const auto count = in.number(2);
        in.take(version == 1 ? (name_bytes + 7) / 8 * 8 : name_bytes);
        Front values(in.take(4 * count));
        in.take(version == 1 && count % 2 == 1 ? 4 : 0);
        if (!in.good()) {
            return senseless;
        }
        if (id == nbit || id == scale_offset) {
            const auto first = values.number(4);
            values.take(4);
            const auto elements = values.number(4);
            values.take(4);
            decoded_bytes = elements * values.number(4);
            if (!values.good() || decoded_bytes == 0 || (id == nbit && first != count)) {
                return senseless;
            }
        }
    }
    return nullptr;
}

Hdf5Chunking decode_chunking(std::span<const std::byte> layout, const Hdf5Sizes& sizes) {
    constexpr std::uint64_t chunked = 2;
    Front in(layout);
    Hdf5Chunking chunking;
    const auto version = in.number(1);
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
        return {{}, std::nullopt, version < 3 || has_place(kind, layout, sizes)};
    }
    constexpr std::uint64_t axes_max = 33;  // the last one is the bytes of an element
    chunking.good = axes > 1 && axes <= axes_max && extent_bytes > 0 && extent_bytes <= 8;
    for (std::uint64_t axis = 0; axis < axes && chunking.good; ++axis) {
        chunking.extents.push_back(in.number(extent_bytes));
        chunking.good = in.good() && chunking.extents.back() > 0;
    }
    return chunking;
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
