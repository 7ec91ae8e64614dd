// SPDX-License-Identifier: Apache-2.0
// Source: "HDF5 File Format Specification Version 3.0", III.G, Fractal Heap.
#include "fluvial/store/hdf5/guard/fractal_heap.hpp"

#include <bit>
#include <cstring>

#include "fluvial/store/hdf5/front.hpp"

namespace fluvial::store {

namespace {

constexpr std::uint64_t object_bytes_max = 64 << 20;

std::uint64_t log2_of(std::uint64_t number) {
    return static_cast<std::uint64_t>(std::bit_width(number)) - 1;
}

}  // namespace

FractalHeap::FractalHeap(const InputFile& file, const Hdf5Sizes& sizes, std::uint64_t address)
    : file_(file), sizes_(sizes) {
    reason_ = "a heap of attributes or links that makes no sense";
    const std::size_t a = sizes.address_bytes, l = sizes.length_bytes;
    const auto header = read(address, 26 + 3 * a + 12 * l);
    if (header && std::memcmp(header->data(), "FRHP", 4) == 0 && (*header)[4] > std::byte{0}) {
        known_ = false;
        reason_ = nullptr;
        return;
    }
    if (!header || std::memcmp(header->data(), "FRHP\0", 5) != 0) {
        return;
    }
    Front in(*header);
    in.take(5);
    id_bytes_ = in.number(2);
    filtered_ = in.number(2) > 0;
    in.take(1);
    const auto managed_max = in.number(4);
    in.take(l);
    huge_tree_ = in.number(a) + sizes.base;
    in.take(l + a + 8 * l);
    width_ = in.number(2);
    start_bytes_ = in.number(l);
    direct_bytes_ = in.number(l);
    heap_bits_ = in.number(2);
    in.take(2);
    root_ = in.number(a) + sizes.base;
    root_rows_ = in.number(2);
    if (!in.good() || !std::has_single_bit(width_) || !std::has_single_bit(start_bytes_) ||
        !std::has_single_bit(direct_bytes_) || direct_bytes_ < start_bytes_ || heap_bits_ > 64 ||
        direct_bytes_ > object_bytes_max || managed_max == 0 || id_bytes_ < 2 ||
        log2_of(start_bytes_) + log2_of(width_) >= heap_bits_) {
        return;
    }
    offset_bytes_ = (heap_bits_ + 7) / 8;
    length_bytes_ = std::min((log2_of(direct_bytes_) + 7) / 8, log2_of(managed_max) / 8 + 1);
    reason_ = nullptr;
}

std::optional<std::vector<std::byte>> FractalHeap::object(std::span<const std::byte> id) {
    if (id.size() < 1) {
        return std::nullopt;
    }
    const auto flags = std::to_integer<unsigned>(id[0]);
    if (flags >> 6 != 0) {
        return std::nullopt;
    }
    switch (flags >> 4 & 3) {
        case 0: {
            Front in(id.subspan(1));
            const auto offset = in.number(offset_bytes_), length = in.number(length_bytes_);
            return in.good() ? managed(offset, length) : std::nullopt;
        }
        case 1:
            return huge(id);
        case 2:
            return tiny(id);
        default:
            return std::nullopt;
    }
}

std::optional<std::vector<std::byte>> FractalHeap::read(std::uint64_t address,
                                                        std::uint64_t bytes) const {
    if (bytes > object_bytes_max || bytes > file_.size() || address > file_.size() - bytes) {
        return std::nullopt;
    }
    std::vector<std::byte> found(bytes);
    file_.read(address, found);
    return found;
}

std::uint64_t FractalHeap::row_bytes(std::uint64_t row) const {
    return start_bytes_ << (row == 0 ? 0 : row - 1);
}

/// Each row of the table has `width_` blocks; from the second one on, rows have blocks of twice the
/// size of those before. Rows of blocks that are larger than any direct one have tables again.
std::optional<FractalHeap::Block> FractalHeap::block_of(std::uint64_t offset) const {
    if (root_rows_ == 0) {
        return offset < start_bytes_ ? std::optional(Block{root_, 0, start_bytes_}) : std::nullopt;
    }
    const std::uint64_t first_bits = log2_of(start_bytes_) + log2_of(width_);
    const std::uint64_t direct_rows = log2_of(direct_bytes_) - log2_of(start_bytes_) + 2;
    std::uint64_t table = root_, rows = root_rows_, begin = 0;
    for (int depth = 0; depth < 64; ++depth) {
        const std::uint64_t inside = offset - begin;
        const bool first = inside < start_bytes_ * width_;
        const std::uint64_t row = first ? 0 : log2_of(inside) - first_bits + 1;
        const std::uint64_t row_begin = first ? 0 : std::uint64_t{1} << log2_of(inside);
        if (row >= rows) {
            return std::nullopt;
        }
        const std::uint64_t column = (inside - row_begin) / row_bytes(row);
        const std::uint64_t entry = row * width_ + column;
        const std::size_t header = 5 + sizes_.address_bytes + offset_bytes_;
        const auto start = read(table, header);
        if (!start || std::memcmp(start->data(), "FHIB\0", 5) != 0) {
            return std::nullopt;
        }
        const auto at = read(table + header + entry * sizes_.address_bytes, sizes_.address_bytes);
        if (!at) {
            return std::nullopt;
        }
        const std::uint64_t address = Front(*at).number(sizes_.address_bytes) + sizes_.base;
        begin += row_begin + column * row_bytes(row);
        if (row < direct_rows) {
            return Block{address, begin, row_bytes(row)};
        }
        table = address;
        rows = log2_of(row_bytes(row)) - first_bits + 1;
    }
    return std::nullopt;
}

std::optional<std::vector<std::byte>> FractalHeap::managed(std::uint64_t offset,
                                                           std::uint64_t length) const {
    const auto block =
        heap_bits_ < 64 && offset >> heap_bits_ != 0 ? std::nullopt : block_of(offset);
    if (!block) {
        return std::nullopt;
    }
    const std::uint64_t inside = offset - block->begin;
    return inside < block->bytes && length > 0 && length <= block->bytes - inside
               ? read(block->address + inside, length)
               : std::nullopt;
}

std::optional<std::vector<std::byte>> FractalHeap::huge(std::span<const std::byte> id) const {
    const std::size_t a = sizes_.address_bytes, l = sizes_.length_bytes;
    Front in(id.subspan(1));
    if (id_bytes_ - 1 >= a + l) {
        const auto address = in.number(a) + sizes_.base, length = in.number(l);
        return in.good() ? read(address, length) : std::nullopt;
    }
    const auto wanted = in.number(std::min(l, id_bytes_ - 1));
    std::optional<std::vector<std::byte>> found;
    for_each_record(file_, sizes_, huge_tree_, [&](std::span<const std::byte> record) {
        Front of(record);
        const auto address = of.number(a) + sizes_.base, length = of.number(l), here = of.number(l);
        if (of.good() && here == wanted) {
            found = read(address, length);
        }
        return static_cast<const char*>(nullptr);
    });
    return found;
}

std::optional<std::vector<std::byte>> FractalHeap::tiny(std::span<const std::byte> id) const {
    constexpr std::size_t short_max = 16;
    Front in(id);
    const auto flags = in.number(1);
    const bool extended = id_bytes_ - 1 > short_max + 1;
    const auto more = extended ? in.number(1) : 0;
    const auto bytes = in.take((extended ? (flags & 0x0f) << 8 | more : flags & 0x0f) + 1);
    return in.good() ? std::optional(std::vector(bytes.begin(), bytes.end())) : std::nullopt;
}

}  // namespace fluvial::store
