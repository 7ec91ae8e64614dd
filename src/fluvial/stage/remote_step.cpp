// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_step.hpp"

#include <algorithm>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {

void RemoteStep::has(const AnnouncedStep& announced) {
    whole_ = announced.whole;
    complete_ = whole_ && announced.message->common == nullptr;  // as its writer's host counts
    if (whole_) {                                                // and is looked at there
        message_ = announced.message;
        return;
    }
    std::size_t chunks = 0, complete = 0;
    for (const auto& [name, dataset] : announced.description.datasets) {
        for (const Chunk& chunk : dataset.chunks) {  // as the writer's host counts them
            chunks_.push_back({place_of(chunk), static_cast<std::uint32_t>(chunks_.size())});
            chunks += chunk.region.empty() ? 0 : 1;
        }
    }
    for (const AnnouncedStep::Part& part : announced.parts) {
        here_.emplace(place_of(*part.chunk), Part{part.box, part.bytes});
        complete += part.box.extent == part.chunk->region.extent ? 1 : 0;
    }
    complete_ = complete == chunks;
}

const RemoteStep::Part* RemoteStep::find(const Chunk& chunk, const Region& box) const {
    const auto found = here_.find(place_of(chunk));
    return found != here_.end() && contains(found->second.box, box) ? &found->second : nullptr;
}

std::uint64_t RemoteStep::bytes_along(const Chunk& chunk, const Region& box, DType dtype) const {
    if (whole_) {
        return bytes_of(chunk, dtype);
    }
    const Part* const part = find(chunk, box);
    return part ? static_cast<std::uint64_t>(part->box.volume()) * size_of(dtype) : 0;
}

/// The reader will want the same of the next step.
void RemoteStep::note(const Chunk& chunk, const Region& box, DType dtype) {
    if (whole_ || chunk.in_file() != nullptr) {
        return;
    }
    const std::lock_guard lock(mutex_);
    bytes_read_ += static_cast<std::uint64_t>(box.volume()) * size_of(dtype);
    if (!std::exchange(sorted_, true)) {
        std::sort(chunks_.begin(), chunks_.end());
    }
    const auto found =
        std::lower_bound(chunks_.begin(), chunks_.end(), std::pair(place_of(chunk), 0u));
    if (found != chunks_.end() && found->first == place_of(chunk)) {
        read_.note(found->second, chunk.region, box);
    }
}

std::shared_ptr<const std::byte> RemoteStep::load(const Chunk& chunk, DType dtype,
                                                  const std::string&) {
    const Region all = whole(chunk.region.extent);
    if (const Part* part = find(chunk, all)) {
        note(chunk, all, dtype);
        if (seat_->claims_) {
            seat_->note_along(step_, {remote({&chunk, all, nullptr}, dtype)});
        }
        return part->bytes;
    }
    const auto memory = seat_->buffers_->take(bytes_of(chunk, dtype));
    read({{&chunk, all, memory.get()}}, dtype, "");
    return memory;
}

move::RemoteBox RemoteStep::remote(const ChunkBox& box, DType dtype) const {
    return {seat_->place_of(*box.chunk, dtype), static_cast<std::uint32_t>(size_of(dtype)),
            box.chunk->region.extent, box.box, box.to};
}

void RemoteStep::read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string&) {
    std::vector<move::RemoteBox> wanted;
    std::vector<move::RemoteBox> along;
    for (const ChunkBox& box : boxes) {
        const Chunk& chunk = *box.chunk;
        note(chunk, box.box, dtype);
        const MutableArrayView to{box.to, dtype, box.box.extent,
                                  contiguous_strides(box.box.extent, size_of(dtype))};
        if (chunk.here() != nullptr) {
            copy(subview(ArrayView(chunk.here(), dtype, chunk.region.extent), box.box), to);
        } else if (const Part* part = find(chunk, box.box)) {
            const ArrayView all(part->bytes.get(), dtype, part->box.extent);
            copy(subview(all, within(box.box, part->box)), to);
            if (seat_->claims_) {
                along.push_back(remote(box, dtype));
            }
        } else {
            wanted.push_back(remote(box, dtype));
        }
    }
    if (!along.empty()) {
        seat_->note_along(step_, along);
    }
    if (!wanted.empty()) {
        const Read read(*this);
        seat_->read(step_, wanted);
    }
}

}  // namespace fluvial::stage
