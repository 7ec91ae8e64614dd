// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_record.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

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

/// What a step says of a dataset's attributes: others than with the definition; said in this very
/// step; in another one than the definition's, whose number follows.
constexpr std::uint8_t said_anew = 1, said_now = 2, said_later = 4;
/// In the place of the number of the step that says it, as those before it are lower.
constexpr auto in_this_step = std::numeric_limits<std::uint64_t>::max();

void encode_indices(ByteWriter& out, const Coordinates& c) {
    out.append(c.begin(), sizeof(Index) * static_cast<std::size_t>(c.size()));
}

Coordinates decode_indices(ByteReader& in, int ndim) {
    Coordinates c(ndim, 0);
    for (Index& value : c) {
        value = in.get<Index>();
    }
    return c;
}

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
    series_attributes_ = attributes;
}

RecordWriter::KnownDefinition* RecordWriter::find(std::string_view name) {
    if (const std::size_t next = entries_.size();
        next < in_order_.size() && in_order_[next]->first == name) {
        return in_order_[next];
    }
    const auto known = definitions_.find(name);
    return known == definitions_.end() ? nullptr : &*known;
}

void RecordWriter::Said::join(const Attributes& more, std::uint64_t step) {
    if (in != step) {
        attributes = more;
        in = step;
        return;
    }
    for (const auto& [key, value] : more) {
        attributes.insert_or_assign(key, value);
    }
}

void RecordWriter::say(std::string_view name, const Attributes& attributes) {
    KnownDefinition* const known = find(name);
    Said& said = known != nullptr ? known->second.current
                                  : said_before_.try_emplace(std::string(name)).first->second;
    said.join(attributes, steps_begun_);
}

RecordWriter::KnownDefinition& RecordWriter::define(std::string_view name, DType dtype) {
    KnownDefinition* const known = find(name);
    if (known != nullptr && known->second.dtype == dtype) {
        return *known;
    }
    Said said;
    if (known != nullptr) {  // another dtype takes no attributes away
        said = known->second.current;
    } else if (const auto before = said_before_.find(name); before != said_before_.end()) {
        said = std::move(before->second);
        said_before_.erase(before);
    }
    ByteWriter payload;
    payload.put(DefinitionKind::Dataset);
    payload.put_string(std::string(name));
    payload.put(dtype);
    fluvial::encode(payload, said.attributes);
    payload.put(said.in);
    append_definition(payload);
    auto& definition = *definitions_.try_emplace(std::string(name)).first;
    definition.second = {definition_count_++, dtype, said, said};
    return definition;
}

void RecordWriter::begin(const Attributes& step_attributes) {
    step_attributes_ = step_attributes;
    entries_.clear();
    chunks_.clear();
    ++steps_begun_;
}

std::size_t RecordWriter::add(std::string_view name, DType dtype, const Coordinates& shape,
                              const Attributes& attributes, const Region& region,
                              std::uint64_t arena_offset) {
    if (!attributes.empty()) {
        say(name, attributes);
    }
    KnownDefinition& known = define(name, dtype);
    auto& [known_name, definition] = known;
    if (definition.used_by != steps_begun_) {
        definition.used_by = steps_begun_;
        in_order_.resize(std::max(in_order_.size(), entries_.size() + 1));
        in_order_[entries_.size()] = &known;
        definition.entry = entries_.size();
        entries_.push_back({&known_name, &definition, shape, chunks_.size(), chunks_.size()});
    }
    const std::size_t number = chunks_.size();
    chunks_.push_back({region, arena_offset, {}, definition.entry});
    Entry& entry = entries_[definition.entry];
    chunks_[entry.last_chunk].next = number;
    entry.last_chunk = number;
    ++entry.chunk_count;
    return number;
}

std::vector<RecordWriter::Unlogged> RecordWriter::unlogged() const {
    std::vector<Unlogged> found;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
        if (const PutChunk& chunk = chunks_[i]; chunk.arena_offset != 0 && !is_logged(i)) {
            const auto item = size_of(entries_[chunk.entry].definition->dtype);
            found.push_back(
                {i, chunk.arena_offset, static_cast<std::uint64_t>(chunk.region.volume()) * item});
        }
    }
    return found;
}

RecordPlace RecordWriter::finish() {
    // What is often the same as in the step before comes first, so that readers know it again.
    ByteWriter out, places;
    out.put<std::uint32_t>(static_cast<std::uint32_t>(entries_.size()));
    for (const Entry& entry : entries_) {
        out.put(entry.definition->number);
        out.put<std::uint8_t>(static_cast<std::uint8_t>(entry.shape.size()));
        encode_indices(out, entry.shape);
        const Said &current = entry.definition->current, &written = entry.definition->written;
        const bool changed = current.attributes != written.attributes;
        const bool now = current.in == steps_begun_, later = !now && current.in != written.in;
        out.put<std::uint8_t>((changed ? said_anew : 0) | (now ? said_now : 0) |
                              (later ? said_later : 0));
        if (changed) {
            fluvial::encode(out, current.attributes);
        }
        if (later) {
            out.put(current.in);
        }
        out.put(entry.chunk_count);
        for_each_chunk(entry, [&](const PutChunk& chunk) {
            encode_indices(out, chunk.region.offset);
            encode_indices(out, chunk.region.extent);
            places.put(chunk.arena_offset);
            if (chunk.arena_offset == 0) {
                places.put(chunk.logged);
            }
        });
    }
    const std::uint64_t layout_bytes = out.size();
    fluvial::encode(places, step_attributes_);
    const std::uint64_t bytes = sizeof layout_bytes + layout_bytes + places.size();
    const std::uint64_t offset = arena_.allocate(bytes);
    std::byte* to = arena_.at(offset);
    std::memcpy(to, &layout_bytes, sizeof layout_bytes);
    std::memcpy(to + sizeof layout_bytes, out.view().data(), layout_bytes);
    std::memcpy(to + sizeof layout_bytes + layout_bytes, places.view().data(), places.size());
    return {offset, bytes, {}};
}

Bytes RecordWriter::logged_record() const {
    ByteWriter out;
    fluvial::encode(out, series_attributes_);
    fluvial::encode(out, step_attributes_);
    out.put<std::uint32_t>(static_cast<std::uint32_t>(entries_.size()));
    for (const Entry& entry : entries_) {
        out.put_string(*entry.name);
        out.put(entry.definition->dtype);
        out.put<std::uint8_t>(static_cast<std::uint8_t>(entry.shape.size()));
        encode_indices(out, entry.shape);
        const Said& said = entry.definition->current;
        fluvial::encode(out, said.attributes);
        out.put(said.in == steps_begun_ ? in_this_step : said.in);
        out.put(entry.chunk_count);
        for_each_chunk(entry, [&](const PutChunk& chunk) {
            encode_indices(out, chunk.region.offset);
            encode_indices(out, chunk.region.extent);
            out.put(chunk.logged);
        });
    }
    return out.take();
}

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
        series_attributes_ = decode_attributes(in);
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
                        Attributes& series) {
    ByteReader in(record);
    Attributes of_series = decode_attributes(in);
    series.merge(of_series);
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
