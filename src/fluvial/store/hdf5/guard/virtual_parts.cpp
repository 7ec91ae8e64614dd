// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", VII.A, The Global Heap Block for Virtual
// Datasets, and VII.B, Format of Serialized Dataspace Selections; for version 1 of the former,
// H5Dvirtual.c of HDF5 2.0.
#include "fluvial/store/hdf5/guard/virtual_parts.hpp"

#include <vector>

#include "fluvial/store/hdf5/front.hpp"
#include "fluvial/store/hdf5/guard/heaps.hpp"

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

/// A number, or the largest one of its width for what has no end.
std::uint64_t number_or_unlimited(Front& in, std::size_t bytes) {
    const auto value = in.number(bytes);
    return value == unlimited >> 8 * (8 - bytes) ? unlimited : value;
}

bool regular(Front& in, std::uint64_t rank, std::size_t bytes) {
    bool good = true;
    for (std::uint64_t axis = 0; axis < rank && good && in.good(); ++axis) {
        const auto start = in.number(bytes), stride = in.number(bytes);
        const auto count = number_or_unlimited(in, bytes), block = number_or_unlimited(in, bytes);
        good = good_axis(start, stride, count, block);
    }
    return good;
}

/// Blocks as pairs of corners.
bool irregular(Front& in, std::uint64_t rank, std::size_t bytes) {
    const auto blocks = in.number(bytes);
    bool good = blocks > 0;
    for (std::uint64_t i = 0; i < blocks && good && in.good(); ++i) {
        Front first(in.take(bytes * rank)), last(in.take(bytes * rank));
        for (std::uint64_t axis = 0; axis < rank; ++axis) {
            good = good && first.number(bytes) <= last.number(bytes);
        }
    }
    return good;
}

/// What follows the kind and version of a selection, up to its rank.
struct Encoding {
    bool regular = false, known_flags = true;
    std::size_t bytes = 4;  ///< of a number
};

Encoding encoding_of(Front& in, std::uint64_t kind, std::uint64_t version) {
    const std::uint64_t first_with_width = kind == boxes ? 3 : 2;
    Encoding encoding;
    if (kind == boxes && version >= 2) {
        const auto flags = in.number(1);
        encoding.regular = (flags & 1) != 0;
        encoding.known_flags = flags <= 1;
        encoding.bytes = 8;
    }
    if (version >= first_with_width) {
        encoding.bytes = in.number(1);
    } else {
        in.take(kind == boxes && version == 2 ? 4 : 8);
    }
    return encoding;
}

enum class Verdict : std::uint8_t { Good, Senseless, Newer };

/// `rank`: of the dataspace; of a selection that does not say it, it stays as it is.
Verdict selection(Front& in, std::uint64_t& rank) {
    constexpr std::uint64_t version_max[] = {1, 2, 3, 1};  // by kind
    const auto kind = in.number(4), version = in.number(4);
    if (!in.good() || version == 0) {
        return Verdict::Senseless;
    }
    if (kind > everything || version > version_max[kind]) {
        return Verdict::Newer;
    }
    if (kind == nothing || kind == everything) {
        in.take(8);
        return in.good() ? Verdict::Good : Verdict::Senseless;
    }
    const Encoding encoding = encoding_of(in, kind, version);
    rank = in.number(4);
    bool good = rank >= 1 && rank <= rank_max && encoding.known_flags &&
                (encoding.bytes == 2 || encoding.bytes == 4 || encoding.bytes == 8);
    if (good && kind == points) {
        const auto count = in.number(encoding.bytes);
        good = count > 0 && count <= in.left() / encoding.bytes / rank;
        in.take(good ? encoding.bytes * rank * count : 0);
    } else if (good) {
        good = encoding.regular ? regular(in, rank, encoding.bytes)
                                : irregular(in, rank, encoding.bytes);
    }
    return good && in.good() ? Verdict::Good : Verdict::Senseless;
}

/// Takes the names of a file and a dataset off the front of an entry: whether they make sense.
/// From version 1 on the names may be those of an entry before.
bool names(Front& in, std::uint64_t version, std::uint64_t entry, std::size_t length_bytes) {
    constexpr std::uint64_t file_before = 1, dataset_before = 2, same_file = 4;
    const auto flags = version == 0 ? 0 : in.number(1);
    bool good = flags <= (file_before | dataset_before | same_file);
    if ((flags & same_file) == 0) {
        if ((flags & file_before) != 0) {
            good = in.number(length_bytes) < entry && good;
        } else {
            in.text();
        }
    }
    if ((flags & dataset_before) != 0) {
        good = in.number(length_bytes) < entry && good;
    } else {
        in.text();
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
    if (stored.empty()) {
        return nullptr;  // newer
    }
    constexpr std::uint64_t version_max = 1;
    constexpr const char* senseless = "a virtual dataset whose parts make no sense";
    Front in(stored);
    const auto version = in.number(1), entries = in.number(sizes.length_bytes);
    if (version > version_max) {
        return nullptr;
    }
    if (entries > stored.size()) {
        return senseless;
    }
    for (std::uint64_t i = 0; i < entries; ++i) {
        if (!names(in, version, i, sizes.length_bytes)) {
            return senseless;
        }
        std::uint64_t source_rank = rank, own_rank = rank;
        for (std::uint64_t* of : {&source_rank, &own_rank}) {
            const Verdict verdict = selection(in, *of);
            if (verdict != Verdict::Good) {
                return verdict == Verdict::Newer ? nullptr : senseless;
            }
        }
        if (own_rank != rank) {
            return senseless;
        }
    }
    in.number(4);  // its checksum
    return in.good() ? nullptr : senseless;
}

}  // namespace fluvial::store
