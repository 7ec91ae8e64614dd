// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", VII.A, The Global Heap Block for Virtual
// Datasets, and VII.B, Format of Serialized Dataspace Selections.
#include "fluvial/store/hdf5_front.hpp"
#include "fluvial/store/hdf5_guard.hpp"

namespace fluvial::store {

namespace {

enum Selection : unsigned { nothing, points, boxes, everything };

constexpr std::uint64_t rank_max = 32;
constexpr std::uint64_t unlimited = ~std::uint64_t{0};
constexpr std::uint64_t place_max = std::uint64_t{1} << 62;

/// One axis of regular blocks.
bool good_axis(std::uint64_t start, std::uint64_t stride, std::uint64_t count,
               std::uint64_t block) {
    if (start > place_max || stride == 0 || stride > place_max || count == 0 || block == 0) {
        return false;
    }
    if (count == unlimited || block == unlimited) {
        return (count == unlimited) != (block == unlimited) &&
               (block == unlimited ? count == 1 : block <= stride);
    }
    std::uint64_t end = 0;
    return (count == 1 || block <= stride) && !__builtin_mul_overflow(count - 1, stride, &end) &&
           !__builtin_add_overflow(end, block, &end) && end <= place_max;
}

bool regular(Front& in, std::uint64_t rank) {
    bool good = true;
    for (std::uint64_t axis = 0; axis < rank && good && in.good(); ++axis) {
        const auto start = in.number(8), stride = in.number(8);
        const auto count = in.number(8), block = in.number(8);
        good = good_axis(start, stride, count, block);
    }
    return good;
}

/// Blocks as pairs of corners.
bool irregular(Front& in, std::uint64_t rank, std::uint64_t blocks) {
    bool good = blocks > 0;
    for (std::uint64_t i = 0; i < blocks && good && in.good(); ++i) {
        Front first(in.take(4 * rank)), last(in.take(4 * rank));
        for (std::uint64_t axis = 0; axis < rank; ++axis) {
            good = good && first.number(4) <= last.number(4);
        }
    }
    return good;
}

/// `rank`: of the dataspace; of a selection that does not say it, it stays as it is.
bool good_selection(Front& in, std::uint64_t& rank) {
    const auto kind = in.number(4), version = in.number(4);
    const auto flags = kind == boxes && version == 2 ? in.number(1) : (in.take(4), 0);
    in.take(4);
    if (kind == nothing || kind == everything) {
        return version == 1 && in.good();
    }
    rank = in.number(4);
    if (rank < 1 || rank > rank_max) {
        return false;
    }
    bool good = false;
    if (kind == points && version == 1) {
        const auto count = in.number(4);
        good = count > 0 && count <= in.left() / 4 / rank;
        in.take(good ? 4 * rank * count : 0);
    } else if (kind == boxes && version == 1) {
        good = irregular(in, rank, in.number(4));
    } else if (kind == boxes && version == 2 && flags == 1) {
        good = regular(in, rank);
    }
    return good && in.good();
}

}  // namespace

const char* check_virtual(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address,
                          std::uint64_t index, std::uint64_t rank) {
    std::vector<std::byte> stored;
    if (const char* reason = find_in_heap(file, sizes, address, index, stored)) {
        return reason;
    }
    constexpr const char* senseless = "a virtual dataset whose parts make no sense";
    Front in(stored);
    const auto version = in.number(1), entries = in.number(sizes.length_bytes);
    if (version != 0 || entries > stored.size()) {
        return senseless;
    }
    for (std::uint64_t i = 0; i < entries; ++i) {
        in.text();
        in.text();
        std::uint64_t source_rank = rank, own_rank = rank;
        if (!good_selection(in, source_rank) || !good_selection(in, own_rank) || own_rank != rank) {
            return senseless;
        }
    }
    in.number(4);  // its checksum
    return in.good() ? nullptr : senseless;
}

}  // namespace fluvial::store
