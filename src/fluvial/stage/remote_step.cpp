// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/remote_step.hpp"

#include "fluvial/describe/array_view.hpp"

namespace fluvial::stage {

std::shared_ptr<const std::byte> RemoteStep::load(const Chunk& chunk, DType dtype,
                                                  const std::string&) {
    if (const auto small = find(chunk); small != small_.end()) {
        return {message_, small->second.data()};
    }
    const auto memory = seat_->buffers_->take(bytes_of(chunk, dtype));
    read({{&chunk, whole(chunk.region.extent), memory.get()}}, dtype, "");
    return memory;
}

void RemoteStep::read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string&) {
    std::vector<move::RemoteBox> wanted;
    for (const ChunkBox& box : boxes) {
        const Chunk& chunk = *box.chunk;
        if (const auto small = find(chunk); small != small_.end()) {
            const ArrayView all(small->second.data(), dtype, chunk.region.extent);
            copy(subview(all, box.box),
                 MutableArrayView{box.to, dtype, box.box.extent,
                                  contiguous_strides(box.box.extent, size_of(dtype))});
        } else {
            wanted.push_back({seat_->place_of(chunk, dtype),
                              static_cast<std::uint32_t>(size_of(dtype)), chunk.region.extent,
                              box.box, box.to});
        }
    }
    if (!wanted.empty()) {
        const Read read(*this);
        seat_->read(wanted);
    }
}

}  // namespace fluvial::stage
