// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_record.hpp"

#include <algorithm>
#include <atomic>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

/// Head of a definition in the arena; the payload follows. `next` is stored last, so a reader that
/// follows it finds a complete definition.
struct DefinitionHead {
    std::atomic<std::uint64_t> next;
    std::uint64_t bytes;
};
enum class DefinitionKind : std::uint8_t { Dataset, Series };

void encode(ByteWriter& out, const Coordinates& c) {
    out.append(c.begin(), sizeof(Index) * static_cast<std::size_t>(c.size()));
}

Coordinates decode_coordinates(ByteReader& in, int ndim) {
    Coordinates c(ndim, 0);
    for (Index& value : c) {
        value = in.get<Index>();
    }
    return c;
}

}  // namespace

void RecordWriter::append_definition(const ByteWriter& payload) {
    const std::uint64_t offset = arena_.allocate(sizeof(DefinitionHead) + payload.size());
    auto* head = new (arena_.at(offset)) DefinitionHead{0, payload.size()};
    std::memcpy(static_cast<void*>(head + 1), payload.view().data(), payload.size());
    if (last_definition_ == 0) {
        cell_.definitions.store(offset, std::memory_order_release);
    } else {
        reinterpret_cast<DefinitionHead*>(arena_.at(last_definition_))
            ->next.store(offset, std::memory_order_release);
    }
    last_definition_ = offset;
}

void RecordWriter::define_series(const Attributes& attributes) {
    ByteWriter payload;
    payload.put(DefinitionKind::Series);
    fluvial::encode(payload, attributes);
    append_definition(payload);
}

RecordWriter::Definition& RecordWriter::define(const std::string& name, DType dtype,
                                               const Attributes& attributes) {
    const auto known = definitions_.find(name);
    if (known != definitions_.end() && known->second.dtype == dtype) {
        for (const auto& [key, value] : attributes) {
            known->second.current.insert_or_assign(key, value);
        }
        return known->second;
    }
    ByteWriter payload;
    payload.put(DefinitionKind::Dataset);
    payload.put_string(name);
    payload.put(dtype);
    fluvial::encode(payload, attributes);
    append_definition(payload);
    Definition& definition = definitions_[name];
    definition = {definition_count_++, dtype, attributes, attributes};
    return definition;
}

void RecordWriter::begin(const Attributes& step_attributes) {
    step_attributes_ = step_attributes;
    entries_.clear();
}

void RecordWriter::add(const std::string& name, DType dtype, const Coordinates& shape,
                       const Attributes& attributes, const Region& region,
                       std::uint64_t arena_offset) {
    const Definition& definition = define(name, dtype, attributes);
    Entry* entry = nullptr;
    for (Entry& candidate : entries_) {
        entry = candidate.definition == &definition ? &candidate : entry;
    }
    if (entry == nullptr) {
        entry = &entries_.emplace_back(Entry{&definition, shape, {}, 0});
    }
    encode(entry->chunks, region.offset);
    encode(entry->chunks, region.extent);
    entry->chunks.put(arena_offset);
    ++entry->chunk_count;
}

RecordPlace RecordWriter::finish() {
    ByteWriter out;
    fluvial::encode(out, step_attributes_);
    out.put<std::uint32_t>(static_cast<std::uint32_t>(entries_.size()));
    for (const Entry& entry : entries_) {
        out.put(entry.definition->number);
        out.put<std::uint8_t>(static_cast<std::uint8_t>(entry.shape.size()));
        encode(out, entry.shape);
        const bool changed = entry.definition->current != entry.definition->attributes;
        out.put<std::uint8_t>(changed ? 1 : 0);
        if (changed) {
            fluvial::encode(out, entry.definition->current);
        }
        out.put(entry.chunk_count);
        out.append(entry.chunks.view().data(), entry.chunks.size());
    }
    const std::uint64_t offset = arena_.allocate(out.size());
    std::memcpy(arena_.at(offset), out.view().data(), out.size());
    return {offset, out.size()};
}

std::span<const std::byte> RecordReader::block(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset || offset % Arena::alignment != 0) {
        throw Error(Problem{text("the record of writer rank ", rank_, " points outside its memory"),
                            text("offset ", offset, ", ", bytes, " bytes"),
                            text("within ", bytes_, " bytes, at a multiple of ", Arena::alignment),
                            "The writer's memory is corrupt; restart both jobs"});
    }
    return {arena_ + offset, bytes};
}

void RecordReader::follow_definitions(std::uint64_t first_definition) {
    std::uint64_t offset = first_definition;
    if (last_definition_ != 0) {
        const auto head = block(last_definition_, sizeof(DefinitionHead));
        offset = reinterpret_cast<const DefinitionHead*>(head.data())
                     ->next.load(std::memory_order_acquire);
    }
    while (offset != 0) {
        const auto* head =
            reinterpret_cast<const DefinitionHead*>(block(offset, sizeof(DefinitionHead)).data());
        const std::uint64_t bytes =
            sizeof(DefinitionHead) + std::min<std::uint64_t>(head->bytes, bytes_);
        ByteReader in(block(offset, bytes).subspan(sizeof(DefinitionHead)));
        if (in.get<DefinitionKind>() == DefinitionKind::Series) {
            series_attributes_ = decode_attributes(in);
        } else {
            Definition definition;
            definition.name = in.get_string();
            definition.dtype = dtype_from_number(in.get<std::uint8_t>());
            definition.attributes = decode_attributes(in);
            definitions_.push_back(std::move(definition));
        }
        if (!seen_.insert(offset).second) {
            throw Error(text("the definitions of writer rank ", rank_,
                             " go round in a circle; its memory is corrupt"));
        }
        last_definition_ = offset;
        offset = head->next.load(std::memory_order_acquire);
    }
}

void RecordReader::read_dataset(ByteReader& in, StepRecord& step) {
    const auto number = in.get<std::uint32_t>();
    if (number >= definitions_.size()) {
        throw Error(
            text("the record of writer rank ", rank_, " refers to the unknown dataset ", number));
    }
    const Definition& definition = definitions_[number];
    const int ndim = in.get<std::uint8_t>();
    const Coordinates shape = decode_coordinates(in, ndim);
    const auto [place, fresh] = step.datasets.try_emplace(definition.name);
    DatasetRecord& dataset = place->second;
    if (fresh) {
        dataset.dtype = definition.dtype;
        dataset.shape = shape;
    } else if (dataset.dtype != definition.dtype || !(dataset.shape == shape)) {
        throw Error(
            Problem{text("the writer's ranks disagree about the dataset '", definition.name, "'"),
                    text(name_of(definition.dtype), shape, " on rank ", rank_),
                    text(name_of(dataset.dtype), dataset.shape, ", as on lower ranks"),
                    "Give every rank of the writer the same dtype and global shape"});
    }
    const Attributes attributes =
        in.get<std::uint8_t>() != 0 ? decode_attributes(in) : definition.attributes;
    dataset.attributes.insert(attributes.begin(), attributes.end());
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        Chunk chunk;
        chunk.region.offset = decode_coordinates(in, ndim);
        chunk.region.extent = decode_coordinates(in, ndim);
        chunk.rank = rank_;
        check_inside(chunk.region, shape, text("a chunk of '", definition.name, "'"));
        const auto offset = in.get<std::uint64_t>();
        const auto elements = static_cast<std::uint64_t>(chunk.region.volume());
        const std::uint64_t elements_max = bytes_ / size_of(dataset.dtype);
        // One more than fits is enough to be refused, and cannot wrap round.
        chunk.data =
            block(offset, std::min(elements, elements_max + 1) * size_of(dataset.dtype)).data();
        dataset.chunks.push_back(chunk);
    }
}

void RecordReader::read(const RecordPlace& place, std::uint64_t first_definition,
                        StepRecord& step) {
    follow_definitions(first_definition);
    ByteReader in(block(place.offset, place.bytes));
    Attributes attributes = decode_attributes(in);
    step.attributes.merge(attributes);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        read_dataset(in, step);
    }
}

}  // namespace fluvial::stage
