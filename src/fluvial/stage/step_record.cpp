// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_record.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/step_record_format.hpp"

namespace fluvial::stage {

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

void RecordWriter::define_series(SeriesDescription series) {
    ByteWriter payload;
    payload.put(DefinitionKind::Series);
    fluvial::encode(payload, series.attributes);
    append_definition(payload);
    series_ = std::move(series);
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
    if (said.in != steps_begun_) {
        before_step_.emplace_back(name, said);
    }
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
    before_step_.clear();
    ++steps_begun_;
}

void RecordWriter::unsay() {
    for (auto& [name, said] : before_step_) {
        const auto known = definitions_.find(name);
        (known != definitions_.end() ? known->second.current : said_before_[name]) =
            std::move(said);
    }
    before_step_.clear();
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
    fluvial::encode(out, series_.attributes);
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

}  // namespace fluvial::stage
