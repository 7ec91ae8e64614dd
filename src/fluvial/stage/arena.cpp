// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/arena.hpp"

#include <algorithm>

#include "fluvial/base/assert.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

constexpr std::uint64_t touch_granule = std::uint64_t{2} << 20;  // a huge page
constexpr std::uint64_t coarse_from =
    65536;  // larger blocks are rounded up, so that they fit again
constexpr std::uint64_t coarse_bytes = 4096;

constexpr std::uint64_t rotated_from = 16 << 10;
constexpr std::uint64_t rotated_to = 2 << 20;
constexpr std::uint64_t window_bytes = 8 << 20;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t to) {
    return (bytes + to - 1) / to * to;
}

}  // namespace

Arena::Arena(const std::string& label, std::uint64_t capacity, std::uint64_t warm_bytes_max)
    : file_(host::MemoryFile::create(label, rounded(capacity, touch_granule))),
      mapping_(file_.map(host::Access::ReadWrite)),
      warm_bytes_max_(warm_bytes_max) {
    // Offset 0 stays unused, so that it can mean "nothing" wherever an offset is stored.
    insert_free(coarse_bytes, file_.size() - coarse_bytes);
}

void Arena::insert_free(std::uint64_t offset, std::uint64_t bytes) {
    free_.emplace(offset, bytes);
    free_by_size_.emplace(bytes, offset);
}

void Arena::erase_free(std::map<std::uint64_t, std::uint64_t>::iterator block) {
    const auto [first, last] = free_by_size_.equal_range(block->second);
    free_by_size_.erase(
        std::find_if(first, last, [&](const auto& entry) { return entry.second == block->first; }));
    free_.erase(block);
}

void Arena::touch(std::uint64_t end) {
    if (end <= touched_end_) {
        return;
    }
    if (touched_end_ > warm_bytes_max_) {
        for (const auto& [offset, bytes] : free_) {
            if (bytes >= touch_granule && offset < touched_end_) {
                file_.release(offset, std::min(bytes, touched_end_ - offset));
            }
        }
    }
    const std::uint64_t target = std::min<std::uint64_t>(rounded(end, touch_granule), file_.size());
    if (!mapping_.populate(touched_end_, target - touched_end_)) {
        throw SystemError(
            Problem{"the host has no memory left for the staging area",
                    text(target - touched_end_, " more bytes"), "",
                    "Lower queue_steps or queue_bytes, or discard steps by full='discard-oldest'"});
    }
    touched_end_ = target;
}

std::pair<Arena::FreeBlocks::iterator, std::uint64_t> Arena::best_fit(std::uint64_t bytes) {
    const auto fit = free_by_size_.lower_bound(bytes);
    if (fit == free_by_size_.end()) {
        return {free_.end(), 0};
    }
    return {free_.find(fit->second), fit->second};
}

std::pair<Arena::FreeBlocks::iterator, std::uint64_t> Arena::next_in_window(std::uint64_t bytes) {
    const std::uint64_t window_end = coarse_bytes + std::min(window_bytes, warm_bytes_max_);
    for (const std::uint64_t from : {rotation_, coarse_bytes}) {
        auto block = free_.upper_bound(from);
        block = block == free_.begin() ? block : std::prev(block);
        for (; block != free_.end() && block->first < window_end; ++block) {
            const std::uint64_t offset = std::max(block->first, from);
            const std::uint64_t end = std::min(block->first + block->second, window_end);
            if (offset + bytes <= end) {
                rotation_ = offset + bytes;
                return {block, offset};
            }
        }
    }
    return best_fit(bytes);
}

std::uint64_t Arena::allocate(std::uint64_t bytes) {
    bytes =
        rounded(std::max<std::uint64_t>(bytes, 1), bytes >= coarse_from ? coarse_bytes : alignment);
    const bool rotates = rotates_ && bytes >= rotated_from && bytes <= rotated_to;
    auto [block, offset] = rotates ? next_in_window(bytes) : best_fit(bytes);
    if (block == free_.end()) {
        throw SystemError(Problem{
            "the staging area of this rank is exhausted", text(used_bytes_, " bytes are in use"),
            text(file_.size(), " bytes, also for steps that readers still view"),
            "Let readers drop their views earlier, or raise queue_bytes"});
    }
    touch(offset + bytes);
    const auto [begin, size] = *block;
    erase_free(block);
    if (offset > begin) {
        insert_free(begin, offset - begin);
    }
    if (begin + size > offset + bytes) {
        insert_free(offset + bytes, begin + size - offset - bytes);
    }
    allocated_.emplace(offset, bytes);
    used_bytes_ += bytes;
    return offset;
}

void Arena::free(std::uint64_t offset) {
    const auto block = allocated_.find(offset);
    FLUVIAL_ASSERT(block != allocated_.end(), offset);
    std::uint64_t begin = block->first;
    std::uint64_t bytes = block->second;
    used_bytes_ -= bytes;
    allocated_.erase(block);
    const auto next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == begin) {
            begin = before->first;
            bytes += before->second;
            erase_free(before);
        }
    }
    const auto after = free_.lower_bound(begin + bytes);
    if (after != free_.end() && after->first == begin + bytes) {
        bytes += after->second;
        erase_free(after);
    }
    insert_free(begin, bytes);
}

}  // namespace fluvial::stage
