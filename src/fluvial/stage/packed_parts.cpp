// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/packed_parts.hpp"

#include <algorithm>
#include <iterator>

#include "fluvial/base/assert.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/chunk_packer.hpp"

namespace fluvial::stage {
namespace {

/// How many chunks there are along each axis.
Coordinates grid_of(const Coordinates& shape, const Coordinates& chunk) {
    Coordinates grid = shape;
    for (int axis = 0; axis < shape.size(); ++axis) {
        grid[axis] = (shape[axis] + chunk[axis] - 1) / chunk[axis];
    }
    return grid;
}

/// Calls `visit(number)` for each chunk that a region touches.
template <class Visit>
void for_each_chunk(const Region& region, const Coordinates& shape, const Coordinates& chunk,
                    const Visit& visit) {
    if (region.empty()) {
        return;
    }
    Coordinates first = region.offset, count = region.extent;
    for (int axis = 0; axis < shape.size(); ++axis) {
        first[axis] = region.offset[axis] / chunk[axis];
        count[axis] =
            (region.offset[axis] + region.extent[axis] - 1) / chunk[axis] - first[axis] + 1;
    }
    const Coordinates grid = grid_of(shape, chunk);
    for_each_index(count, [&](const Coordinates& at) {
        Coordinates cell = at;
        for (int axis = 0; axis < shape.size(); ++axis) {
            cell[axis] += first[axis];
        }
        visit(linear_index(cell, grid));
    });
}

/// The part of a view of `region` that is `inside` of it.
ArrayView part_of(const ArrayView& elements, const Region& region, const Region& inside) {
    return subview(elements, {within(inside, region).offset, inside.extent});
}

std::size_t bytes_of(const Coordinates& extent, DType dtype) {
    return static_cast<std::size_t>(volume_of(extent)) * size_of(dtype);
}

MutableArrayView row_major(std::byte* data, DType dtype, const Coordinates& extent) {
    return {data, dtype, extent, contiguous_strides(extent, size_of(dtype))};
}

}  // namespace

PackedParts::PackedParts(const store::StepContents& step, const store::Places& places,
                         const std::vector<PackedPart>& mine, int rank, int ranks)
    : step_(step), places_(places), rank_(rank) {
    share_out(owners(), ranks);
    for (const PackedPart& part : mine) {
        add(part);
    }
}

Region PackedParts::region_of(const Cell& cell) const {
    const Coordinates& shape = described(cell).shape;
    const Coordinates& chunk = packing(cell.first).chunk;
    Region region{coordinates_of(cell.second, grid_of(shape, chunk)), chunk};
    for (int axis = 0; axis < shape.size(); ++axis) {
        region.offset[axis] *= chunk[axis];
        region.extent[axis] = std::min(chunk[axis], shape[axis] - region.offset[axis]);
    }
    return region;
}

/// The rank that has most elements of each chunk; of several the lowest.
std::map<PackedParts::Cell, int> PackedParts::owners() const {
    std::map<Cell, int> owners;
    for (std::size_t dataset = 0; dataset < step_.datasets.size(); ++dataset) {
        if (places_.packings[dataset]) {
            add_owners(dataset, owners);
        }
    }
    return owners;
}

void PackedParts::add_owners(std::size_t dataset, std::map<Cell, int>& owners) const {
    const DatasetDescription& described = step_.datasets[dataset];
    const Coordinates& chunk = packing(dataset).chunk;
    if (store::fits(described.chunks, described.shape, chunk)) {  // each chunk is one rank's
        for (const Chunk& put : described.chunks) {
            for_each_chunk(put.region, described.shape, chunk,
                           [&](Index number) { owners[{dataset, number}] = put.rank; });
        }
        return;
    }
    std::map<Cell, std::map<int, Index>> elements;
    for (const Chunk& put : described.chunks) {
        for_each_chunk(put.region, described.shape, chunk, [&](Index number) {
            const Cell cell{dataset, number};
            elements[cell][put.rank] += intersect(put.region, region_of(cell))->volume();
        });
    }
    for (const auto& [cell, by_rank] : elements) {
        owners[cell] = std::ranges::max_element(by_rank, {}, [](const auto& of_rank) {
                           return of_rank.second;
                       })->first;
    }
}

/// Ranks that have more than their share of the bytes give chunks to those that have less.
void PackedParts::share_out(std::map<Cell, int> owners, int ranks) {
    const auto bytes = [&](const Cell& cell) {
        return bytes_of(packing(cell.first).chunk, described(cell).dtype);
    };
    std::vector<std::size_t> load(static_cast<std::size_t>(ranks));
    std::size_t all = 0;
    for (const auto& [cell, rank] : owners) {
        load[static_cast<std::size_t>(rank)] += bytes(cell);
        all += bytes(cell);
    }
    const std::size_t share = all / static_cast<std::size_t>(ranks);
    std::size_t idle = 0;  // ranks before it have their share
    for (auto& [cell, rank] : owners) {
        std::size_t& has = load[static_cast<std::size_t>(rank)];
        const std::size_t moved = bytes(cell);
        if (has < share + moved) {
            continue;
        }
        while (idle < load.size() && load[idle] + moved > share) {
            ++idle;
        }
        if (idle == load.size()) {
            break;
        }
        has -= moved;
        load[idle] += moved;
        rank = static_cast<int>(idle);
    }
    makers_ = std::move(owners);
}

void PackedParts::add(const PackedPart& part) {
    const DatasetDescription& dataset = step_.datasets[part.dataset];
    for_each_chunk(part.region, dataset.shape, packing(part.dataset).chunk, [&](Index number) {
        const Cell cell{part.dataset, number};
        const Region inside = *intersect(part.region, region_of(cell));
        const ArrayView elements = part_of(part.elements, part.region, inside);
        const int maker = makers_.at(cell);
        if (maker == rank_) {
            mine_[cell].push_back({inside, elements});
            return;
        }
        Bytes packed(bytes_of(inside.extent, dataset.dtype));
        copy(elements, row_major(packed.data(), dataset.dtype, inside.extent));
        ByteWriter& message = for_others_[maker];
        message.put<std::uint64_t>(part.dataset);
        message.put(number);
        for (int axis = 0; axis < dataset.shape.size(); ++axis) {
            message.put(inside.offset[axis]);
            message.put(inside.extent[axis]);
        }
        message.put_aligned_block(packed.data(), packed.size());
    });
}

std::vector<std::pair<int, Bytes>> PackedParts::messages() {
    std::vector<std::pair<int, Bytes>> found;
    for (auto& [rank, message] : for_others_) {
        found.emplace_back(rank, message.take());
    }
    return found;
}

void PackedParts::take(Bytes message) {
    from_others_.push_back(std::move(message));
    ByteReader in(from_others_.back());
    while (!in.done()) {
        const auto dataset = static_cast<std::size_t>(in.get<std::uint64_t>());
        const auto number = in.get<Index>();
        const DatasetDescription& described = step_.datasets.at(dataset);
        Region region{described.shape, described.shape};
        for (int axis = 0; axis < described.shape.size(); ++axis) {
            region.offset[axis] = in.get<Index>();
            region.extent[axis] = in.get<Index>();
        }
        const auto elements = in.get_aligned_block();
        mine_[{dataset, number}].push_back(
            {region, ArrayView(elements.data(), described.dtype, region.extent)});
    }
}

/// All elements of a chunk as they are to be compressed; behind the end of the array zeros.
std::span<const std::byte> PackedParts::elements_of(const Cell& cell,
                                                    const std::vector<Piece>& pieces) {
    const DType dtype = described(cell).dtype;
    const Coordinates& chunk = packing(cell.first).chunk;
    const std::size_t bytes = bytes_of(chunk, dtype);
    if (pieces.size() == 1 && pieces[0].region.extent == chunk &&
        pieces[0].elements.is_contiguous()) {
        return {pieces[0].elements.data, bytes};
    }
    const Region region = region_of(cell);
    scratch_.resize(bytes);
    if (region.extent != chunk) {
        std::ranges::fill(scratch_, std::byte{0});
    }
    const MutableArrayView all = row_major(scratch_.data(), dtype, chunk);
    for (const Piece& piece : pieces) {
        copy(piece.elements, subview(all, within(piece.region, region)));
    }
    return scratch_;
}

std::vector<store::PackedChunk> PackedParts::pack() {
    std::vector<store::PackedChunk> found;
    std::map<int, store::ChunkPacker> packers;  // by level
    for (const auto& [cell, pieces] : mine_) {
        const int level = packing(cell.first).level;
        store::ChunkPacker& packer = packers.try_emplace(level, level).first->second;
        store::ChunkPacker::Packed packed =
            packer.pack(elements_of(cell, pieces), size_of(described(cell).dtype));
        found.push_back(
            {cell.first, region_of(cell).offset, packed.bytes.size(), packed.filters_left_out});
        packed_.push_back(std::move(packed.bytes));
    }
    return found;
}

void PackedParts::write(int file, const std::string& path,
                        std::span<const std::uint64_t> begins) const {
    FLUVIAL_ASSERT(begins.size() == packed_.size());
    for (std::size_t i = 0; i < packed_.size(); ++i) {
        store::write_at(file, path, packed_[i], begins[i]);
    }
}

}  // namespace fluvial::stage
