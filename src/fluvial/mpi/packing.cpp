// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/packing.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::mpi {
namespace {

constexpr std::size_t learnt_span_max = std::size_t{64} << 20;
constexpr std::size_t strips_max = std::size_t{1} << 16;

/// Calls copy(offset of a block in the element, its offset in the packed bytes) for each block.
template <class Copy>
void for_blocks_of(std::ptrdiff_t offset, std::ptrdiff_t stride, std::size_t count,
                   std::size_t bytes, std::size_t packed, Copy&& copy) {
    for (std::size_t i = 0; i < count; ++i) {
        copy(offset, packed);
        offset += stride;
        packed += bytes;
    }
}

/// The same with `copy(…, bytes)`, where lengths of single numbers are constants.
template <class Strip, class Copy>
void for_blocks_of(const std::vector<Strip>& strips, Copy&& copy) {
    std::size_t packed = 0;
    for (const Strip& s : strips) {
        const auto with = [&](auto length) {
            for_blocks_of(s.offset, s.stride, s.count, s.bytes, packed,
                          [&](std::ptrdiff_t at, std::size_t to) { copy(at, to, length()); });
        };
        switch (s.bytes) {
            case 4:
                with([] { return std::size_t{4}; });
                break;
            case 8:
                with([] { return std::size_t{8}; });
                break;
            case 16:
                with([] { return std::size_t{16}; });
                break;
            default:
                with([&] { return s.bytes; });
        }
        packed += s.bytes * s.count;
    }
}

/// Such a type is never freed.
bool is_predefined_type(MPI_Datatype type) {
    int combiner = 0;
#if MPI_VERSION >= 4
    MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
    check(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner),
          "look into a datatype");
#else
    int integers = 0, addresses = 0, types = 0;
    check(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
          "look into a datatype");
#endif
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/// Joins what the parts of a type are made of: MPI_DATATYPE_NULL stands for several.
struct Items {
    MPI_Datatype found = MPI_DATATYPE_NULL;
    bool several = false;

    void add(MPI_Datatype type) {
        several = several || (found != MPI_DATATYPE_NULL && found != type);
        found = type;
    }
};

void collect_items(MPI_Datatype type, Items& items) {
#if MPI_VERSION >= 4
    MPI_Count integers_c = 0, addresses_c = 0, large = 0, types_c = 0;
    int combiner_c = 0;
    check(MPI_Type_get_envelope_c(type, &integers_c, &addresses_c, &large, &types_c, &combiner_c),
          "look into a datatype");
    if (large > 0) {
        items.several = true;
        return;
    }
#endif
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    check(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
          "look into a datatype");
    if (types == 0) {  // named, or of Fortran's parameters
        items.add(type);
        return;
    }
    std::vector<int> integer_values(static_cast<std::size_t>(integers) + 1);
    std::vector<MPI_Aint> address_values(static_cast<std::size_t>(addresses) + 1);
    std::vector<MPI_Datatype> parts(static_cast<std::size_t>(types));
    check(MPI_Type_get_contents(type, integers, addresses, types, integer_values.data(),
                                address_values.data(), parts.data()),
          "look into a datatype");
    for (MPI_Datatype part : parts) {
        collect_items(part, items);
        if (!is_predefined_type(part)) {
            MPI_Type_free(&part);
        }
    }
}

}  // namespace

PackedType::PackedType(MPI_Datatype type, const Comm& comm) : comm_(comm.handle()) {
    if (type == MPI_DATATYPE_NULL) {
        throw InvalidArgument(
            Problem{"a datatype is missing", "MPI_DATATYPE_NULL", "a datatype", ""});
    }
    MPI_Count bytes = 0, first = 0, span = 0, lower = 0, extent = 0;
    check(MPI_Type_size_x(type, &bytes), "tell the size of a datatype");
    check(MPI_Type_get_true_extent_x(type, &first, &span), "tell the extent of a datatype");
    check(MPI_Type_get_extent_x(type, &lower, &extent), "tell the extent of a datatype");
    if (bytes < 1 || bytes > std::numeric_limits<int>::max()) {
        throw InvalidArgument(Problem{"a datatype has no size that can be packed",
                                      text(bytes, " bytes"), "1 byte to 2 GiB", ""});
    }
    bytes_ = static_cast<std::size_t>(bytes);
    span_ = static_cast<std::size_t>(span);
    first_ = static_cast<std::ptrdiff_t>(first);
    extent_ = static_cast<std::ptrdiff_t>(extent);
    owned_ = !is_predefined_type(type);
    type_ = type;
    if (owned_) {
        check(MPI_Type_dup(type, &type_), "duplicate a datatype");
        check(MPI_Type_commit(&type_), "commit a datatype");
    }
    if (!learn()) {
        strips_.clear();
    }
    contiguous_ = strips_.size() == 1 && strips_[0].count == 1 && strips_[0].offset == 0 &&
                  extent_ == static_cast<std::ptrdiff_t>(bytes_);
}

PackedType::PackedType(PackedType&& other) noexcept {
    *this = std::move(other);
}

PackedType& PackedType::operator=(PackedType&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(owned_, other.owned_);
    std::swap(comm_, other.comm_);
    std::swap(bytes_, other.bytes_);
    std::swap(span_, other.span_);
    std::swap(extent_, other.extent_);
    std::swap(first_, other.first_);
    std::swap(contiguous_, other.contiguous_);
    std::swap(strips_, other.strips_);
    return *this;
}

PackedType::~PackedType() {
    if (owned_ && !finalized()) {
        MPI_Type_free(&type_);
    }
}

/// Packs an element whose bytes are their own numbers, digit by digit.
bool PackedType::learn() {
    if (span_ > learnt_span_max) {
        return false;
    }
    std::vector<std::byte> element(span_), packed(bytes_);
    std::vector<std::uint32_t> origins(bytes_);
    for (int shift = 0; (span_ - 1) >> shift != 0 || shift == 0; shift += 8) {
        for (std::size_t i = 0; i < span_; ++i) {
            element[i] = static_cast<std::byte>(i >> shift);
        }
        pack_by_mpi(element.data() - first_, packed.data());
        for (std::size_t i = 0; i < bytes_; ++i) {
            origins[i] |= static_cast<std::uint32_t>(packed[i]) << shift;
        }
    }
    for (std::size_t begin = 0; begin < bytes_;) {
        std::size_t end = begin + 1;
        while (end < bytes_ && origins[end] == origins[end - 1] + 1) {
            ++end;
        }
        add(first_ + static_cast<std::ptrdiff_t>(origins[begin]), end - begin);
        if (strips_.size() > strips_max) {
            return false;
        }
        begin = end;
    }
    return true;
}

void PackedType::add(std::ptrdiff_t offset, std::size_t bytes) {
    if (!strips_.empty() && strips_.back().bytes == bytes) {
        Strip& last = strips_.back();
        const std::ptrdiff_t stride = last.count == 1 ? offset - last.offset : last.stride;
        if (offset == last.offset + static_cast<std::ptrdiff_t>(last.count) * stride) {
            last.stride = stride;
            ++last.count;
            return;
        }
    }
    strips_.push_back({offset, bytes, 0, 1});
}

void PackedType::pack_by_mpi(const void* element, std::byte* room) const {
    int position = 0;
    const int bytes = static_cast<int>(bytes_);
    check(MPI_Pack(element, 1, type_, room, bytes, &position, comm_), "pack an element");
    if (position != bytes) {
        throw SystemError(Problem{"MPI packs elements with something around their data",
                                  text(position, " bytes"), text(bytes), ""});
    }
}

void PackedType::pack(const void* element, std::byte* room) const {
    if (strips_.empty()) {
        pack_by_mpi(element, room);
        return;
    }
    const auto* from = static_cast<const std::byte*>(element);
    for_blocks_of(strips_, [&](std::ptrdiff_t at, std::size_t packed, std::size_t bytes) {
        std::memcpy(room + packed, from + at, bytes);
    });
}

void PackedType::unpack(const std::byte* packed, void* element) const {
    if (strips_.empty()) {
        int position = 0;
        check(MPI_Unpack(packed, static_cast<int>(bytes_), &position, element, 1, type_, comm_),
              "unpack an element");
        return;
    }
    auto* to = static_cast<std::byte*>(element);
    for_blocks_of(strips_, [&](std::ptrdiff_t at, std::size_t from, std::size_t bytes) {
        std::memcpy(to + at, packed + from, bytes);
    });
}

MPI_Datatype only_item(MPI_Datatype type) {
    Items items;
    if (type != MPI_DATATYPE_NULL) {
        collect_items(type, items);
    }
    return items.several ? MPI_DATATYPE_NULL : items.found;
}

}  // namespace fluvial::mpi
