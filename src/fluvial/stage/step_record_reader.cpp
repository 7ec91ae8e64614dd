// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/step_record.hpp"
#include "fluvial/stage/step_record_format.hpp"

namespace fluvial::stage {
namespace {

/// The dataset `name` of the step, to which ranks add their chunks.
DatasetDescription& dataset_of(StepDescription& step, const std::string& name, DType dtype,
                               const Coordinates& shape, int rank) {
    const auto [place, fresh] = step.datasets.try_emplace(name);
    DatasetDescription& dataset = place->second;
    if (fresh) {
        dataset.name = name;
        dataset.dtype = dtype;
        dataset.shape = shape;
    } else if (dataset.dtype != dtype || !(dataset.shape == shape)) {
        throw Error(Problem{text("the writer's ranks disagree about the dataset '", name, "'"),
                            text(name_of(dtype), shape, " on rank ", rank),
                            text(name_of(dataset.dtype), dataset.shape, ", as on lower ranks"),
                            "Give every rank of the writer the same dtype and global shape"});
    }
    return dataset;
}

/// But for where its data is.
Chunk decode_chunk(ByteReader& in, const std::string& name, const Coordinates& shape, int rank) {
    Chunk chunk;
    chunk.region.offset = decode_indices(in, shape.size());
    chunk.region.extent = decode_indices(in, shape.size());
    chunk.rank = rank;
    check_inside(chunk.region, shape, {"a chunk of", name});
    return chunk;
}

/// The place of a chunk on the disk.
BytesOfFile decode_logged(ByteReader& in, const Chunk& chunk, const std::string& name,
                          DType dtype) {
    const auto logged = in.get<BytesOfFile>();
    const std::uint64_t item = size_of(dtype);
    if (logged.bytes % item != 0 ||
        logged.bytes / item != static_cast<std::uint64_t>(chunk.region.volume())) {
        throw Error(Problem{text("a chunk of '", name, "' has another size on the disk"),
                            text(logged.bytes, " bytes"),
                            text(chunk.region.volume(), " elements of ", item), ""});
    }
    return logged;
}

/// The attributes of a dataset are those that were said last, by any of the ranks.
void join_attributes(DatasetDescription& dataset, const Attributes& said, std::uint64_t said_in) {
    if (said_in > dataset.said_in) {
        dataset.attributes = said;
        dataset.said_in = said_in;
    } else if (said_in == dataset.said_in) {
        dataset.attributes.insert(said.begin(), said.end());
    }
}

}  // namespace

void RecordMemory::check(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset > bytes_ || bytes > bytes_ - offset || offset % Arena::alignment != 0) {
        throw Error(Problem{text("the record of writer rank ", rank_, " points outside its memory"),
                            text("offset ", offset, ", ", bytes, " bytes"),
                            text("within ", bytes_, " bytes, at a multiple of ", Arena::alignment),
                            "The writer's memory is corrupt; restart both jobs"});
    }
}

std::vector<std::span<const std::byte>> RecordMemory::new_definitions(
    std::uint64_t first_definition) {
    std::uint64_t offset = first_definition;
    if (last_definition_ != 0) {
        const auto head = block(last_definition_, sizeof(DefinitionHead));
        offset = reinterpret_cast<const DefinitionHead*>(head.data())
                     ->next.load(std::memory_order_acquire);
    }
    std::vector<std::span<const std::byte>> found;
    while (offset != 0) {
        const auto* head =
            reinterpret_cast<const DefinitionHead*>(block(offset, sizeof(DefinitionHead)).data());
        const std::uint64_t bytes =
            sizeof(DefinitionHead) + std::min<std::uint64_t>(head->bytes, bytes_);
        found.push_back(block(offset, bytes).subspan(sizeof(DefinitionHead)));
        if (!seen_.insert(offset).second) {
            throw Error(text("the definitions of writer rank ", rank_,
                             " go round in a circle; its memory is corrupt"));
        }
        last_definition_ = offset;
        offset = head->next.load(std::memory_order_acquire);
    }
    return found;
}

void RecordReader::follow_definitions(std::uint64_t first_definition) {
    for (const auto& definition : memory_.new_definitions(first_definition)) {
        define(definition);
    }
}

void RecordReader::define(std::span<const std::byte> definition) {
    ByteReader in(definition);
    if (in.get<DefinitionKind>() == DefinitionKind::Series) {
        series_.attributes = decode_attributes(in);
    } else {
        Definition dataset;
        dataset.name = in.get_string();
        dataset.dtype = dtype_from_number(in.get<std::uint8_t>());
        dataset.attributes = decode_attributes(in);
        dataset.said_in = in.get<std::uint64_t>();
        definitions_.push_back(std::move(dataset));
    }
}

/// The chunk begins at `offset` of this rank's memory.
void RecordReader::place(Chunk& chunk, std::uint64_t offset, DType dtype) const {
    const auto elements = static_cast<std::uint64_t>(chunk.region.volume());
    const std::uint64_t elements_max = memory_.bytes() / size_of(dtype);
    // One more than fits is enough to be refused, and cannot wrap round.
    const std::uint64_t bytes = std::min(elements, elements_max + 1) * size_of(dtype);
    if (in_memory_) {
        chunk.place = MemoryHere{memory_.block(offset, bytes).data()};
    } else {
        memory_.check(offset, bytes);
        chunk.place = MemoryOfRank{offset};
    }
}

/// The next chunk's place, as the record says it.
void RecordReader::read_place(ByteReader& places, Chunk& chunk, const std::string& name,
                              DType dtype) const {
    if (const auto offset = places.get<std::uint64_t>(); offset == 0) {
        chunk.place = decode_logged(places, chunk, name, dtype);
    } else {
        place(chunk, offset, dtype);
    }
}

void RecordReader::read_dataset(ByteReader& in, ByteReader& places, StepDescription& step,
                                Trail* trail) {
    const auto number = in.get<std::uint32_t>();
    if (number >= definitions_.size()) {
        throw Error(
            text("the record of writer rank ", rank_, " refers to the unknown dataset ", number));
    }
    const Definition& definition = definitions_[number];
    const int ndim = in.get<std::uint8_t>();
    const Coordinates shape = decode_indices(in, ndim);
    DatasetDescription& dataset = dataset_of(step, definition.name, definition.dtype, shape, rank_);
    const auto how = in.get<std::uint8_t>();
    const Attributes attributes =
        (how & said_anew) != 0 ? decode_attributes(in) : definition.attributes;
    const std::uint64_t later =
        (how & said_later) != 0 ? in.get<std::uint64_t>() : definition.said_in;
    join_attributes(dataset, attributes, (how & said_now) != 0 ? in_this_step : later);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        Chunk chunk = decode_chunk(in, definition.name, shape, rank_);
        read_place(places, chunk, definition.name, dataset.dtype);
        if (trail != nullptr) {
            trail->push_back({&definition.name, &dataset, dataset.chunks.size()});
        }
        dataset.chunks.push_back(chunk);
    }
}

void RecordReader::read(const RecordPlace& place, std::uint64_t first_definition,
                        StepDescription& step) {
    follow_definitions(first_definition);
    read(memory_.record(place), step);
}

RecordReader::Parts RecordReader::parts_of(std::span<const std::byte> record) {
    ByteReader in(record);
    const auto layout = in.get_block();
    return {layout, record.subspan(static_cast<std::size_t>(layout.data() - record.data()) +
                                   layout.size())};
}

void RecordReader::read(std::span<const std::byte> record, StepDescription& step, Trail* trail) {
    const Parts parts = parts_of(record);
    ByteReader in(parts.layout), places(parts.places);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        read_dataset(in, places, step, trail);
    }
    Attributes attributes = decode_attributes(places);
    step.attributes.merge(attributes);
}

void RecordReader::read_places(std::span<const std::byte> record, StepDescription& step,
                               std::span<const Placed> trail) const {
    ByteReader places(parts_of(record).places);
    for (const Placed& placed : trail) {
        read_place(places, placed.dataset->chunks[placed.chunk], *placed.name,
                   placed.dataset->dtype);
    }
    Attributes attributes = decode_attributes(places);
    step.attributes.merge(attributes);
}

void read_logged_record(int rank, std::span<const std::byte> record, StepDescription& step,
                        SeriesDescription& series) {
    ByteReader in(record);
    series.add({decode_attributes(in)});
    Attributes of_step = decode_attributes(in);
    step.attributes.merge(of_step);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        const std::string name = in.get_string();
        const DType dtype = dtype_from_number(in.get<std::uint8_t>());
        const Coordinates shape = decode_indices(in, in.get<std::uint8_t>());
        DatasetDescription& dataset = dataset_of(step, name, dtype, shape, rank);
        const Attributes attributes = decode_attributes(in);
        join_attributes(dataset, attributes, in.get<std::uint64_t>());
        for (auto chunks = in.get<std::uint32_t>(); chunks > 0; --chunks) {
            Chunk chunk = decode_chunk(in, name, shape, rank);
            chunk.place = decode_logged(in, chunk, name, dtype);
            dataset.chunks.push_back(chunk);
        }
    }
}

}  // namespace fluvial::stage
