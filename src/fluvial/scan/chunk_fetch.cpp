// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/chunk_fetch.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "fluvial/describe/index_walk.hpp"

namespace fluvial::scan {

const store::Chunked& ChunkFetch::layout(int part) const {
    return std::get<store::Chunked>(input_.parts[static_cast<std::size_t>(part)]->layout());
}

const store::StoredChunk& ChunkFetch::locate(int part, const Coordinates& cell) {
    if (located_.part == part && located_.cell == cell) {
        return located_.place;
    }
    if (next_ < expected_.size() && expected_[next_].part == part &&
        expected_[next_].cell == cell) {
        located_ = expected_[next_++];
    } else {
        located_ = {part, cell, input_.parts[static_cast<std::size_t>(part)]->locate(cell)};
    }
    return located_.place;
}

const store::InputFile& ChunkFetch::file_of(int part, const store::StoredChunk& place) {
    if (place.file.empty()) {
        return input_.parts[static_cast<std::size_t>(part)]->bytes();
    }
    if (!own_file_ || own_file_->path() != place.file) {
        own_file_.emplace(place.file);
    }
    return *own_file_;
}

void ChunkFetch::check_inside_file(int part, const store::StoredChunk& place,
                                   const store::InputFile& file) const {
    const std::uint64_t size = file.size();
    if (place.bytes > size || place.offset > size - place.bytes) {
        const store::Dataset& dataset = *input_.parts[static_cast<std::size_t>(part)];
        throw DamagedFile(
            Problem{text("a chunk of '", dataset.name(), "' lies outside of '", file.path(), "'"),
                    text(place.bytes, " bytes at ", place.offset), text("up to ", size),
                    "The file is truncated or damaged; copy or write it again"});
    }
}

void ChunkFetch::expect(std::vector<Unit>& units) {
    std::vector<std::pair<Expected, Unit>> found;
    found.reserve(units.size());
    for (Unit& unit : units) {
        const auto& dataset = *input_.parts[static_cast<std::size_t>(unit.part)];
        found.push_back({{unit.part, unit.cell, dataset.locate(unit.cell)}, std::move(unit)});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        const auto& [x, unit_x] = a;
        const auto& [y, unit_y] = b;
        return std::tie(x.part, x.place.file, x.place.offset) <
               std::tie(y.part, y.place.file, y.place.offset);
    });
    expected_.clear();
    units.clear();
    next_ = 0;
    for (auto& [expected, unit] : found) {
        expected_.push_back(std::move(expected));
        units.push_back(std::move(unit));
    }
}

std::span<const std::byte> ChunkFetch::stored_bytes(int part, const store::StoredChunk& place) {
    const std::uint64_t end = place.offset + place.bytes;
    if (raw_part_ != part || raw_file_ != place.file || place.offset < raw_begin_ ||
        end > raw_end_) {
        const store::InputFile& file = file_of(part, place);
        check_inside_file(part, place, file);
        was_in_place_ = false;
        if (in_place_) {
            if (const std::byte* const seen = reader_.look(file, place.offset, place.bytes,
                                                           static_cast<Index>(place.bytes))) {
                was_in_place_ = true;
                return {seen, place.bytes};
            }
        }
        std::uint64_t until = end;
        for (std::size_t i = next_; i < expected_.size(); ++i) {
            const store::StoredChunk& next = expected_[i].place;
            const std::uint64_t next_end = next.offset + next.bytes;
            const auto limit = place.offset + static_cast<std::uint64_t>(buffer_bytes_);
            if (expected_[i].part != part || next.file != place.file || !next.stored ||
                next.offset < until ||
                next.offset - until > static_cast<std::uint64_t>(gap_bytes_max) ||
                next_end > limit || next_end > file.size()) {
                break;
            }
            until = next_end;
        }
        raw_part_ = -1;
        if (raw_.size() < until - place.offset) {
            raw_.resize(until - place.offset);
        }
        reader_.read(file, place.offset, {raw_.data(), until - place.offset});
        raw_part_ = part;
        raw_file_ = place.file;
        raw_begin_ = place.offset;
        raw_end_ = until;
    }
    return {raw_.data() + (place.offset - raw_begin_), place.bytes};
}

void ChunkFetch::forget_place() {
    cached_part_ = was_in_place_ ? -1 : cached_part_;
}

ArrayView ChunkFetch::fill_view(int part, const Coordinates& extent) const {
    static constexpr std::byte zeros[16] = {};
    const store::Chunked& layout = this->layout(part);
    const DType dtype = input_.parts[static_cast<std::size_t>(part)]->dtype();
    const bool has_fill = layout.fill.size() == size_of(dtype);
    return {has_fill ? layout.fill.data() : zeros, dtype, extent, Coordinates(extent.size(), 0)};
}

ArrayView ChunkFetch::chunk(int part, const Coordinates& cell, const Region& inside) {
    const store::Dataset& dataset = *input_.parts[static_cast<std::size_t>(part)];
    const store::Chunked& layout = this->layout(part);
    if (part != cached_part_ || !(cell == cached_cell_)) {
        const store::StoredChunk place = locate(part, cell);
        if (!place.stored) {
            return fill_view(part, inside.extent);
        }
        cached_part_ = -1;
        if (decoder_part_ != part) {  // one at a time: joined files may be many
            decoder_.emplace(layout, dataset.dtype());
            decoder_part_ = part;
        }
        const std::string in = place.file.empty() ? "" : text(" in '", place.file, "'");
        decoder_->decode_apart(stored_bytes(part, place), place.filters_left_out,
                               text("chunk ", cell, " of '", dataset.name(), "'", in));
        ++stats_.chunks_decoded;
        cached_part_ = part;
        cached_cell_ = cell;
    }
    Coordinates last = inside.offset;
    for (int axis = 0; axis < last.size(); ++axis) {
        last[axis] += inside.extent[axis] - 1;
    }
    const Index first = linear_index(inside.offset, layout.chunk);
    const Index count = linear_index(last, layout.chunk) - first + 1;
    const auto elements =
        decoder_->elements(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    ArrayView view(elements.data(), dataset.dtype(), inside.extent,
                   contiguous_strides(layout.chunk, size_of(dataset.dtype())));
    view.swapped = layout.swapped;
    return view;
}

std::optional<ChunkFetch::Direct> ChunkFetch::direct(int part, const Region& inside) {
    const store::Chunked& layout = this->layout(part);
    const store::Dataset& dataset = *input_.parts[static_cast<std::size_t>(part)];
    const std::size_t element = size_of(dataset.dtype());
    const Index bytes = volume_of(layout.chunk) * static_cast<Index>(element);
    if (!layout.filters.empty() || bytes <= buffer_bytes_) {
        return std::nullopt;
    }
    Coordinates cell = inside.offset, first = inside.offset;
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        cell[axis] /= layout.chunk[axis];
        first[axis] -= cell[axis] * layout.chunk[axis];
        if (first[axis] + inside.extent[axis] > layout.chunk[axis]) {
            return std::nullopt;
        }
    }
    const bool again = located_.part == part && located_.cell == cell;
    const store::StoredChunk& place = locate(part, cell);
    if (!place.stored) {
        return std::nullopt;
    }
    const store::InputFile& file = file_of(part, place);
    if (!again) {
        check_inside_file(part, place, file);
        ++stats_.chunks_decoded;
    }
    if (place.bytes != static_cast<std::uint64_t>(bytes)) {
        throw DamagedFile(Problem{text("chunk ", cell, " of '", dataset.name(), "' is damaged"),
                                  text(place.bytes, " bytes"), text(bytes, " bytes, a whole chunk"),
                                  "Copy or write the file again"});
    }
    return Direct{
        file, {place.offset, contiguous_strides(layout.chunk, element), layout.swapped}, first};
}

ArrayView ChunkFetch::fetch(int part, const Region& inside, const Coordinates& stride,
                            bool in_place) {
    in_place_ = in_place;
    const Coordinates& extent = layout(part).chunk;
    Coordinates first = inside.offset, last = inside.offset;
    Region in_chunk = inside;
    for (int axis = 0; axis < inside.ndim(); ++axis) {
        first[axis] = inside.offset[axis] / extent[axis];
        last[axis] = (inside.offset[axis] + inside.extent[axis] - 1) / extent[axis];
        in_chunk.offset[axis] -= first[axis] * extent[axis];
    }
    const bool one = first == last;
    const ArrayView all = one ? chunk(part, first, in_chunk) : gather(part, inside, first, last);
    return every(all, stride);
}

ArrayView ChunkFetch::gather(int part, const Region& inside, const Coordinates& first,
                             const Coordinates& last) {
    const store::Chunked& layout = this->layout(part);
    const DType dtype = input_.parts[static_cast<std::size_t>(part)]->dtype();
    gathered_.resize(static_cast<std::size_t>(inside.volume()) * size_of(dtype));
    const MutableArrayView to{gathered_.data(), dtype, inside.extent,
                              contiguous_strides(inside.extent, size_of(dtype))};
    Coordinates cells = last;
    for (int axis = 0; axis < cells.size(); ++axis) {
        cells[axis] += 1 - first[axis];
    }
    for_each_index(cells, [&](Coordinates cell) {
        Region of_chunk{cell, layout.chunk};
        for (int axis = 0; axis < cell.size(); ++axis) {
            cell[axis] += first[axis];
            of_chunk.offset[axis] = cell[axis] * layout.chunk[axis];
        }
        const Region common = *intersect(of_chunk, inside);
        Region from = common, into = common;
        for (int axis = 0; axis < cell.size(); ++axis) {
            from.offset[axis] -= of_chunk.offset[axis];
            into.offset[axis] -= inside.offset[axis];
        }
        ArrayView source = chunk(part, cell, from);
        std::byte turned[16];
        if (!source.swapped && layout.swapped) {  // the fill value, among swapped neighbours
            const std::size_t bytes = size_of(dtype), half = is_complex(dtype) ? bytes / 2 : bytes;
            std::reverse_copy(source.data, source.data + half, turned);
            std::reverse_copy(source.data + half, source.data + bytes, turned + half);
            source.data = turned;
        }
        copy(source, subview(to, into));
    });
    ArrayView view = to;
    view.swapped = layout.swapped;
    return view;
}

}  // namespace fluvial::scan
