// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_messages.hpp"

#include <array>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {

StepMessages::StepMessages(const StreamMemory& memory) : memory_(memory) {
    for (const host::Mapping& arena : memory_.arenas) {
        const auto rank = static_cast<int>(records_.size());
        records_.emplace_back(rank, arena.data(), arena.size());
        readers_.emplace_back(rank, arena.size(), arena.data());
    }
}

StepMessages::Message StepMessages::message_of(const Taken& taken, std::uint64_t step,
                                               const Bearings& bearings) {
    Message message;
    ByteWriter out;
    out.put(FromWriter::Step);
    out.put(step);
    out.put<std::uint8_t>(taken.logged ? 1 : 0);
    out.put(bearings);
    put_records(out, taken);
    put_parts(out, message.behind, taken);
    std::uint64_t bytes_behind = 0;
    for (const move::PackedBytes& part : message.behind) {
        bytes_behind += part.bytes.size();
    }
    out.put(bytes_behind);
    message.bytes = out.take();
    return message;
}

/// Each writer rank's definitions since the last step, and its record.
void StepMessages::put_records(ByteWriter& out, const Taken& taken) {
    const int ranks = control().writer_ranks();
    out.put<std::uint32_t>(static_cast<std::uint32_t>(ranks));
    const auto logged =
        taken.logged ? memory_.log->records(*taken.logged) : std::vector<BytesOfFile>();
    for (int rank = 0; rank < ranks; ++rank) {
        RecordMemory& memory = records_[static_cast<std::size_t>(rank)];
        const auto definitions = memory.new_definitions(
            control().writer(rank).definitions.load(std::memory_order_acquire));
        out.put<std::uint32_t>(static_cast<std::uint32_t>(definitions.size()));
        for (const auto& definition : definitions) {
            readers_[static_cast<std::size_t>(rank)].define(definition);
            out.put_block(definition.data(), definition.size());
        }
        if (taken.logged) {
            const BytesOfFile& block = logged.at(static_cast<std::size_t>(rank));
            const auto bytes = memory_.log->read(
                block, text("the record of rank ", rank, " of step ", taken.logged->step));
            out.put_block(bytes.get(), block.bytes);
        } else {
            const auto record = memory.record(control().record(taken.slot, rank));
            out.put_block(record.data(), record.size());
        }
    }
}

/// Everything of a small step; of a larger one what the reader wants, where there is such a chunk.
std::vector<StepMessages::ChosenPart> StepMessages::choose_parts(const Taken& taken) {
    if (taken.logged) {
        return {};
    }
    const bool small = control().slots()[taken.slot].bytes <= small_step_bytes;
    if (!small && wanted_.empty()) {
        return {};
    }
    StepDescription step;
    for (int rank = 0; rank < control().writer_ranks(); ++rank) {
        const auto number = static_cast<std::size_t>(rank);
        readers_[number].read(records_[number].record(control().record(taken.slot, rank)), step);
    }
    std::vector<ChosenPart> chosen;
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
            if (chunk.here() == nullptr || chunk.region.empty() || (!small && !same)) {
                continue;
            }
            const Region box = small ? whole(chunk.region.extent) : wanted->box;
            bytes += static_cast<std::uint64_t>(box.volume()) * size_of(dataset.dtype);
            if (bytes > parts_bytes_max) {
                return chosen;
            }
            const ArrayView all(chunk.here(), dataset.dtype, chunk.region.extent);
            chosen.push_back({chunk_number, box, move::packed(subview(all, box), nullptr)});
        }
    }
    return chosen;
}

void StepMessages::put_parts(ByteWriter& out, std::vector<move::PackedBytes>& behind,
                             const Taken& taken) {
    static constexpr std::array<std::byte, part_alignment> nothing{};
    std::vector<ChosenPart> parts = choose_parts(taken);
    out.put(static_cast<std::uint32_t>(parts.size()));
    for (ChosenPart& part : parts) {
        const std::span<const std::byte> bytes = part.bytes.bytes;
        const bool inside = memory_.encrypt || bytes.size() <= part_inside_max;
        out.put(part.chunk);
        put(out, part.box);
        out.put(inside);
        if (inside) {
            out.put_aligned_block(bytes.data(), bytes.size());
            continue;
        }
        const std::size_t gap = (part_alignment - bytes.size() % part_alignment) % part_alignment;
        behind.push_back(std::move(part.bytes));
        behind.push_back({std::span(nothing).first(gap), nullptr});
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
