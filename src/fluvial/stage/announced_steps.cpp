// SPDX-License-Identifier: Apache-2.0
// How a seat elsewhere takes the messages of steps, and opens these (stage/step_messages.hpp has
// what they hold).
#include <cstring>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/remote_step.hpp"

namespace fluvial::stage {

void RemoteSeat::announce(Bytes message) {
    std::uint64_t behind = 0;
    if (message.size() < sizeof behind) {
        throw Error("the message of a step of another host is too short");
    }
    std::memcpy(&behind, message.data() + message.size() - sizeof behind, sizeof behind);
    if (behind == 0) {
        take_in({std::move(message), nullptr, 0});
        return;
    }
    if (behind > 2 * parts_bytes_max) {
        throw Error("the writer's host sends more with a step than it may");
    }
    arriving_ = {std::move(message), buffers_->take(behind), behind};
    arrived_ = 0;
}

void RemoteSeat::take_in(Announced announced) {
    ByteReader in(announced.message);
    in.get<FromWriter>();
    const auto step = in.get<std::uint64_t>();
    traffic_->count(interface_, announced.message.size() + announced.bytes_behind);
    holds_.insert(step);
    next_to_come_ = step + 1;
    --asked_;
    small_ = announced.message.size() + announced.bytes_behind <= 2 * small_step_bytes;
    steps_.push_back(std::move(announced));
}

/// True once all is there.
bool RemoteSeat::receive_behind() {
    while (arrived_ < arriving_->bytes_behind) {
        const std::size_t got = connection_->read_raw(
            {arriving_->behind.get() + arrived_, arriving_->bytes_behind - arrived_});
        if (got == 0) {
            return false;
        }
        arrived_ += got;
        heard_ns_ = now_ns();
    }
    take_in(*std::exchange(arriving_, std::nullopt));
    return true;
}

/// Not with `mutex_`, which a step that cannot be opened needs to be given back.
OpenedStep RemoteSeat::open_step(Announced announced) {
    ByteReader in(announced.message);
    in.get<FromWriter>();
    OpenedStep step;
    step.index = in.get<std::uint64_t>();
    step.from_disk = in.get<std::uint8_t>() != 0;
    const auto bearings = in.get<Bearings>();
    auto access = std::make_shared<RemoteStep>(shared_from_this(), step.index);
    {
        const std::lock_guard lock(mutex_);
        bearings_ = bearings;
        ++steps_taken_;
    }
    read_records(in, step, step.from_disk);
    if (in.get<bool>()) {
        if (!step.form) {
            throw Error("a step came from a disk with its data");
        }
        take_all(in, std::move(announced), *step.form, *access);
    } else {
        take_parts(in, std::move(announced), step.description, *access);
    }
    step.access = std::move(access);
    return step;
}

/// All chunks are in memory here.
void RemoteSeat::take_all(ByteReader& in, Announced announced, const StepForm& form,
                          RemoteStep& step) {
    const bool inside = in.get<bool>();
    const std::span<const std::byte> data =
        inside ? in.get_aligned_block()
               : std::span<const std::byte>(announced.behind.get(), announced.bytes_behind);
    along_.follow(form);
    if (data.size() != along_.bytes()) {
        throw Error("a step came with other data than it says");
    }
    auto piece = along_.pieces().begin();
    for_each_chunk(form,
                   [&](Chunk& chunk) { chunk.place = MemoryHere{data.data() + (piece++)->at}; });
    // The bytes stay where they are when their vector moves.
    step.has_all(std::make_shared<const Bytes>(std::move(announced.message)),
                 std::move(announced.behind));
}

/// The chunks of the step, and the parts of them that came with it.
void RemoteSeat::take_parts(ByteReader& in, Announced announced, const StepDescription& record,
                            RemoteStep& step) const {
    std::vector<std::pair<const Chunk*, DType>> chunks;
    for (const auto& [name, dataset] : record.datasets) {
        for (const Chunk& chunk : dataset.chunks) {
            chunks.emplace_back(&chunk, dataset.dtype);
            step.has(chunk);
        }
    }
    std::span<const std::byte> behind(announced.behind.get(), announced.bytes_behind);
    // The bytes stay where they are when their vector moves.
    const auto message = std::make_shared<const Bytes>(std::move(announced.message));
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        const auto number = in.get<std::uint32_t>();
        const Region box = get_region(in);
        if (number >= chunks.size()) {
            throw Error("a part came with its step of a chunk that this does not have");
        }
        const auto& [chunk, dtype] = chunks[number];
        check_inside(box, chunk->region.extent, {"a part that came with its step", "a chunk"});
        const auto bytes = static_cast<std::size_t>(box.volume()) * size_of(dtype);
        if (in.get<bool>()) {
            const auto block = in.get_aligned_block();
            if (block.size() != bytes) {
                throw Error("a part that came with its step has another size than it");
            }
            step.came_along(*chunk, box, {message, block.data()});
            continue;
        }
        const std::size_t with_gap = (bytes + part_alignment - 1) / part_alignment * part_alignment;
        if (with_gap > behind.size()) {
            throw Error("a part that should lie behind the message of its step does not");
        }
        step.came_along(*chunk, box, {announced.behind, behind.data()});
        behind = behind.subspan(with_gap);
    }
}

void RemoteSeat::read_records(ByteReader& in, OpenedStep& step, bool from_disk) {
    const auto ranks = in.get<std::uint32_t>();
    if (ranks != records_.size()) {
        throw Error("a step of another host has records of another number of ranks");
    }
    if (from_disk) {
        logged_attributes_.clear();
    }
    std::vector<std::span<const std::byte>> found;
    for (std::size_t number = 0; number < records_.size(); ++number) {
        RecordReader& records = records_[number];
        for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
            records.define(in.get_block());
        }
        if (from_disk) {
            read_logged_record(stream_.ranks.at(number), in.get_block(), step.description,
                               logged_attributes_);
        } else {
            found.push_back(take_record(in, latest_records_[number]));
        }
    }
    if (!from_disk) {
        step.form = decoder_.decode(records_, found);
        step.description = std::move(step.form->description);
    }
}

/// The record that a message has, or has of it what is not as in the `latest`, which it becomes.
std::span<const std::byte> RemoteSeat::take_record(ByteReader& in, Bytes& latest) {
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
