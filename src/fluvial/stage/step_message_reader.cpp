// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_message_reader.hpp"

#include <cstring>
#include <utility>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {

std::uint64_t StepMessage::bytes_behind_of(const Bytes& message) {
    std::uint64_t behind = 0;
    if (message.size() < sizeof behind) {
        throw Error("the message of a step of another host is too short");
    }
    std::memcpy(&behind, message.data() + message.size() - sizeof behind, sizeof behind);
    if (behind > 2 * parts_bytes_max) {
        throw Error("the writer's host sends more with a step than it may");
    }
    return behind;
}

std::uint64_t StepMessage::step() const {
    ByteReader in(bytes);
    in.get<FromWriter>();
    return in.get<std::uint64_t>();
}

std::optional<CommonAt> StepMessage::to_fetch() const {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // as of a message
    ByteReader in(bytes);
    in.get<FromWriter>();
    in.get<std::uint64_t>();
    in.get<std::uint8_t>();
    in.get<Bearings>();
    if (in.get<CommonSent>() != CommonSent::Elsewhere) {
        return std::nullopt;
    }
    const auto at = in.get<CommonAt>();
    if (at.bytes > most) {
        throw Error(Problem{"a step of another host is described by too much",
                            text(at.bytes, " bytes"), text("at most ", most),
                            "Put fewer datasets in a step"});
    }
    return at;
}

void StepMessageReader::add_rank(int rank, std::uint64_t arena_bytes) {
    ranks_.push_back(rank);
    arena_bytes_.push_back(arena_bytes);
    records_.emplace_back(rank, arena_bytes);
    latest_records_.emplace_back();
}

/// All that messages have said.
void StepMessageReader::forget() {
    records_.clear();
    for (std::size_t number = 0; number < ranks_.size(); ++number) {
        records_.emplace_back(ranks_[number], arena_bytes_[number]);
        latest_records_[number].clear();
    }
    decoder_ = {};
    along_ = {};
}

SeriesDescription StepMessageReader::series() const {
    SeriesDescription all;
    for (const RecordReader& records : records_) {
        all.add(records.series());
    }
    all.add(logged_series_);
    return all;
}

AnnouncedStep StepMessageReader::read(StepMessage message) {
    AnnouncedStep step;
    if (message.anew) {
        forget();
    }
    step.message = std::make_shared<const StepMessage>(std::move(message));
    ByteReader in(step.message->bytes);
    in.get<FromWriter>();
    in.get<std::uint64_t>();
    step.from_disk = in.get<std::uint8_t>() != 0;
    step.bearings = in.get<Bearings>();
    switch (in.get<CommonSent>()) {
        case CommonSent::Here:
            read_common(in, step);
            break;
        case CommonSent::Block: {
            ByteReader common(in.get_aligned_block());
            read_common(common, step);
            break;
        }
        case CommonSent::Elsewhere: {
            in.get<CommonAt>();
            ByteReader common({step.message->common.get(), step.message->common_bytes});
            read_common(common, step);
            break;
        }
        default:
            throw Error("the message of a step of another host does not say where its records are");
    }
    if (!step.whole) {
        take_parts(in, step);
    }
    return step;
}

/// What the message has in common with those to other ranks of the job.
void StepMessageReader::read_common(ByteReader& in, AnnouncedStep& step) {
    read_records(in, step);
    step.whole = get_flag(in);
    if (step.whole && !step.form) {
        throw Error("a step came from a disk with its data");
    }
    if (step.whole) {
        take_all(in, step);
    }
}

/// All chunks are in memory here.
void StepMessageReader::take_all(ByteReader& in, AnnouncedStep& step) {
    const StepMessage& message = *step.message;
    const bool inside = get_flag(in);
    const std::span<const std::byte> data =
        inside ? in.get_aligned_block()
               : std::span<const std::byte>(message.behind.get(), message.bytes_behind);
    along_.follow(*step.form);
    if (data.size() != along_.bytes()) {
        throw Error("a step came with other data than it says");
    }
    auto piece = along_.pieces().begin();
    for_each_chunk(*step.form,
                   [&](Chunk& chunk) { chunk.place = MemoryHere{data.data() + (piece++)->at}; });
}

/// The parts of chunks that came with the step.
void StepMessageReader::take_parts(ByteReader& in, AnnouncedStep& step) {
    std::vector<std::pair<const Chunk*, DType>> chunks;
    for (const auto& [name, dataset] : step.description.datasets) {
        for (const Chunk& chunk : dataset.chunks) {
            chunks.emplace_back(&chunk, dataset.dtype);
        }
    }
    const StepMessage& message = *step.message;
    std::span<const std::byte> behind(message.behind.get(), message.bytes_behind);
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        const auto number = in.get<std::uint32_t>();
        const Region box = get_region(in);
        if (number >= chunks.size()) {
            throw Error("a part came with its step of a chunk that this does not have");
        }
        const auto& [chunk, dtype] = chunks[number];
        check_inside(box, chunk->region.extent, {"a part that came with its step", "a chunk"});
        const auto bytes = static_cast<std::size_t>(box.volume()) * size_of(dtype);
        if (get_flag(in)) {
            const auto block = in.get_aligned_block();
            if (block.size() != bytes) {
                throw Error("a part that came with its step has another size than it");
            }
            step.parts.push_back({chunk, box, {step.message, block.data()}});
            continue;
        }
        const std::size_t with_gap = (bytes + part_alignment - 1) / part_alignment * part_alignment;
        if (bytes > behind.size() || with_gap > behind.size()) {
            throw Error("a part that should lie behind the message of its step does not");
        }
        step.parts.push_back({chunk, box, {step.message, behind.data()}});
        behind = behind.subspan(with_gap);
    }
}

void StepMessageReader::read_records(ByteReader& in, AnnouncedStep& step) {
    const auto ranks = in.get<std::uint32_t>();
    if (ranks != records_.size()) {
        throw Error("a step of another host has records of another number of ranks");
    }
    if (step.from_disk) {
        logged_series_ = {};
    }
    std::vector<std::span<const std::byte>> found;
    for (std::size_t number = 0; number < records_.size(); ++number) {
        RecordReader& records = records_[number];
        for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
            records.define(in.get_block());
        }
        if (step.from_disk) {
            read_logged_record(ranks_[number], in.get_block(), step.description, logged_series_);
        } else {
            found.push_back(take_record(in, latest_records_[number]));
        }
    }
    if (!step.from_disk) {
        step.form = decoder_.decode(records_, found);
        step.description = std::move(step.form->description);
    }
}

/// The record that a message has, or has of it what is not as in the `latest`, which it becomes.
std::span<const std::byte> StepMessageReader::take_record(ByteReader& in, Bytes& latest) {
    const auto kind = in.get<RecordSent>();
    const auto sent = in.get_block();
    if (kind == RecordSent::Places) {
        if (latest.empty()) {
            throw Error("a step of another host has a layout that was never sent");
        }
        latest.resize(latest.size() - RecordReader::parts_of(latest).places.size());
        latest.insert(latest.end(), sent.begin(), sent.end());
    } else {
        latest.assign(sent.begin(), sent.end());
    }
    return latest;
}

}  // namespace fluvial::stage
