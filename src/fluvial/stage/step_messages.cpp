// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_messages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/base/hash.hpp"
#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {
namespace {

/// Fewer bytes, and those of more chunks, are copied sooner than they are sent one by one.
constexpr std::uint64_t lent_bytes_min = 16 * 1024;
constexpr std::size_t lent_pieces_max = 8;
/// To ask for less costs more than to send it to each rank.
constexpr std::size_t fetched_bytes_min = 64 * 1024;
/// Between what lies behind a message.
constexpr std::array<std::byte, part_alignment> gap{};

}  // namespace

StepMessages::StepMessages(const StreamMemory& memory, bool lends)
    : memory_(memory),
      lends_(lends),
      unsent_(memory.arenas.size()),
      known_layouts_(memory.arenas.size()) {
    for (const host::Mapping& arena : memory_.arenas) {
        const auto rank = static_cast<int>(records_.size());
        records_.emplace_back(rank, arena.data(), arena.size());
        readers_.emplace_back(rank, arena.size(), arena.data());
    }
}

StepMessages::Message StepMessages::message_of(const Taken& taken, std::uint64_t step,
                                               const Bearings& bearings) {
    std::vector<Bytes> known_layouts = std::exchange(known_layouts_, {});
    known_layouts_.resize(known_layouts.size());  // nothing, should this fail
    Message message;
    ByteWriter out;
    out.put(FromWriter::Step);
    out.put(step);
    out.put<std::uint8_t>(taken.logged ? 1 : 0);
    out.put(bearings);
    ByteWriter apart;
    ByteWriter& common = shares_ ? apart : out;
    if (!shares_) {
        out.put(CommonSent::Here);
    }
    const Records records = put_records(common, taken, known_layouts);
    std::uint64_t bytes_of_records = 0;
    for (const auto& record : records) {
        bytes_of_records += record.size();
    }
    // A chunk takes up to 64 bytes more than it has, and is described by more than 30.
    const std::uint64_t whole_bytes_max = whole_step_bytes(bytes_of_records);
    const bool may_be_whole = !taken.logged && control().slots()[taken.slot].bytes <=
                                                   whole_bytes_max + 3 * bytes_of_records;
    std::optional<std::vector<move::PackedBytes>> data;
    std::vector<ChosenPart> parts;
    if (!taken.logged && (may_be_whole || !wanted_.empty())) {
        auto form = decoder_.decode(readers_, records);
        along_.follow(*form);
        data = along_.bytes() <= whole_bytes_max ? all_data(*form) : std::nullopt;
        if (!data) {
            parts = choose_parts(form->description, message.complete);
        }
        StepDescription description = std::move(form->description);
        StepForm::give_back(std::move(form), std::move(description));
    }
    const bool whole = data.has_value();
    common.put(whole);
    if (whole) {
        put_data(common, message, std::move(*data));
    }
    if (shares_) {
        put_common(out, message, apart.take());
    }
    if (!whole) {
        put_parts(out, message, parts);
    }
    std::uint64_t bytes_behind = 0;
    for (const move::PackedBytes& part : message.behind) {
        bytes_behind += part.bytes.size();
        message.borrows =
            message.borrows || (part.owner == nullptr && part.bytes.data() != gap.data());
    }
    out.put(bytes_behind);
    message.bytes = out.take();
    known_layouts_ = std::move(known_layouts);
    std::for_each(unsent_.begin(), unsent_.end(), [](Records& of_rank) { of_rank.clear(); });
    return message;
}

/// Each writer rank's definitions since the last step, and its record. Returns the records of a
/// step in memory.
StepMessages::Records StepMessages::put_records(ByteWriter& out, const Taken& taken,
                                                std::vector<Bytes>& known_layouts) {
    Records records;
    const auto ranks = records_.size();
    out.put<std::uint32_t>(static_cast<std::uint32_t>(ranks));
    const auto logged =
        taken.logged ? memory_.log->records(*taken.logged) : std::vector<BytesOfFile>();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const int number = static_cast<int>(rank);
        for (const auto& definition : records_[rank].new_definitions(
                 control().writer(number).definitions.load(std::memory_order_acquire))) {
            readers_[rank].define(definition);
            unsent_[rank].push_back(definition);
        }
        out.put<std::uint32_t>(static_cast<std::uint32_t>(unsent_[rank].size()));
        for (const auto& definition : unsent_[rank]) {
            out.put_block(definition.data(), definition.size());
        }
        if (taken.logged) {
            const BytesOfFile& block = logged.at(rank);
            const auto bytes = memory_.log->read(
                block, text("the record of rank ", rank, " of step ", taken.logged->step));
            out.put_block(bytes.get(), block.bytes);
        } else {
            records.push_back(records_[rank].record(control().record(taken.slot, number)));
            put_record(out, records.back(), known_layouts[rank]);
        }
    }
    return records;
}

/// All of it, or without the layout where the reader knows that.
void StepMessages::put_record(ByteWriter& out, std::span<const std::byte> record,
                              Bytes& known_layout) {
    const auto [layout, places] = RecordReader::parts_of(record);
    const bool same = !known_layout.empty() && std::ranges::equal(layout, known_layout);
    out.put(same ? RecordSent::Places : RecordSent::Whole);
    if (same) {
        out.put_block(places.data(), places.size());
        return;
    }
    out.put_block(record.data(), record.size());
    known_layout.assign(layout.begin(), layout.end());
}

/// What the reader wants of a larger step, where there is such a chunk; whether that is `all`.
std::vector<StepMessages::ChosenPart> StepMessages::choose_parts(const StepDescription& step,
                                                                 bool& all) const {
    std::vector<ChosenPart> chosen;
    all = true;
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;
    auto wanted = wanted_.begin();
    for (const auto& [name, dataset] : step.datasets) {
        for (const Chunk& chunk : dataset.chunks) {
            const std::uint32_t chunk_number = number++;
            while (wanted != wanted_.end() && wanted->chunk < chunk_number) {
                ++wanted;
            }
            const bool same = wanted != wanted_.end() && wanted->chunk == chunk_number &&
                              wanted->region == chunk.region;
            if (chunk.region.empty()) {
                continue;
            }
            if (chunk.here() == nullptr || !same) {
                all = false;
                continue;
            }
            all = all && wanted->box.extent == chunk.region.extent;
            bytes += static_cast<std::uint64_t>(wanted->box.volume()) * size_of(dataset.dtype);
            if (bytes > parts_bytes_max) {
                all = false;
                return chosen;
            }
            const ArrayView whole_chunk(chunk.here(), dataset.dtype, chunk.region.extent);
            chosen.push_back({chunk_number, wanted->box,
                              move::packed(subview(whole_chunk, wanted->box), nullptr)});
        }
    }
    return chosen;
}

/// All chunks, each where DataAlong has it; nothing where one of them is not in memory.
std::optional<std::vector<move::PackedBytes>> StepMessages::all_data(const StepForm& form) const {
    if (lends_ && !shares_ && along_.bytes() >= lent_bytes_min &&
        along_.pieces().size() <= lent_pieces_max) {
        return lent_data(form);
    }
    const std::shared_ptr<std::byte> data = buffers_->take(along_.bytes());
    auto piece = along_.pieces().begin();
    std::uint64_t end = 0;
    bool all = true;
    for_each_chunk(form, [&](const Chunk& chunk) {
        const auto [at, bytes] = *piece++;
        std::memset(data.get() + end, 0, at - end);
        end = at + bytes;
        const std::byte* const from = chunk.here();
        if (from == nullptr && bytes > 0) {
            all = false;
        } else if (bytes > 0) {
            std::memcpy(data.get() + at, from, bytes);
        }
    });
    if (!all) {
        return std::nullopt;
    }
    return std::vector<move::PackedBytes>{{{data.get(), along_.bytes()}, data}};
}

/// The same, but as they lie in the memory of the stream.
std::optional<std::vector<move::PackedBytes>> StepMessages::lent_data(const StepForm& form) const {
    std::vector<move::PackedBytes> data;
    auto piece = along_.pieces().begin();
    std::uint64_t end = 0;
    bool all = true;
    for_each_chunk(form, [&](const Chunk& chunk) {
        const auto [at, bytes] = *piece++;
        data.push_back({std::span(gap).first(at - end), nullptr});
        data.push_back({{chunk.here(), bytes}, nullptr});
        end = at + bytes;
        all = all && (bytes == 0 || chunk.here() != nullptr);
    });
    if (!all) {
        return std::nullopt;
    }
    return data;
}

void StepMessages::put_data(ByteWriter& out, Message& message,
                            std::vector<move::PackedBytes> data) const {
    const bool inside = data.size() == 1 && (shares_ || data[0].bytes.size() <= part_inside_max);
    out.put(inside);
    if (inside) {
        out.put_aligned_block(data[0].bytes.data(), data[0].bytes.size());
    } else {
        message.behind = std::move(data);
    }
    message.complete = true;
}

void StepMessages::put_common(ByteWriter& out, Message& message, Bytes common) {
    if (common.size() < fetched_bytes_min) {
        out.put(CommonSent::Block);
        out.put_aligned_block(common.data(), common.size());
        return;
    }
    message.common_at = {hash_of(common), common.size()};
    message.common = std::make_shared<const Bytes>(std::move(common));
    message.complete = false;  // before the reader has fetched it
    out.put(CommonSent::Elsewhere);
    out.put(message.common_at);
}

void StepMessages::put_parts(ByteWriter& out, Message& message,
                             const std::vector<ChosenPart>& parts) {
    out.put(static_cast<std::uint32_t>(parts.size()));
    for (const ChosenPart& part : parts) {
        const std::span<const std::byte> bytes = part.bytes.bytes;
        const bool inside = bytes.size() <= part_inside_max;
        out.put(part.chunk);
        put(out, part.box);
        out.put(inside);
        if (inside) {
            out.put_aligned_block(bytes.data(), bytes.size());
            continue;
        }
        const std::size_t rest = (part_alignment - bytes.size() % part_alignment) % part_alignment;
        message.behind.push_back(part.bytes);
        message.behind.push_back({std::span(gap).first(rest), nullptr});
    }
}

std::span<const std::byte> StepMessages::block(std::uint32_t rank, std::uint64_t offset,
                                               std::uint64_t bytes) const {
    if (rank >= records_.size()) {
        throw Error("a reader asked for memory of a rank that the writer does not have");
    }
    return records_[rank].block(offset, bytes);
}

}  // namespace fluvial::stage
