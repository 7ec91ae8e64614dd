// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/arrival_memory.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace fluvial::move {
namespace {

/// Smaller blocks the C library keeps itself.
constexpr std::size_t kept_min = 128 << 10;
/// Large ones lie on large pages, as NumPy's arrays do: one process that reads another one's memory
/// pays for each page.
constexpr std::size_t large_min = 4 << 20;
constexpr std::align_val_t alignment{2 << 20};

std::byte* new_block(std::size_t bytes) {
    auto* const begin = static_cast<std::byte*>(::operator new(bytes, alignment));
    if (bytes >= large_min) {
        ::madvise(begin, bytes, MADV_HUGEPAGE);  // if not, it only takes longer
    }
    return begin;
}

struct MemoryBlock {
    std::byte* begin;
    std::size_t bytes;
};

class KeptBlocks {
  public:
    /// One that is not much larger, the last one given back first: its pages are in the cache.
    std::byte* take(std::size_t bytes, std::size_t& size) {
        const std::lock_guard lock(mutex_);
        const auto found =
            std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const MemoryBlock& block) {
                return block.bytes >= bytes && block.bytes <= bytes + bytes / 4;
            });
        if (found == blocks_.rend()) {
            return nullptr;
        }
        size = found->bytes;
        std::byte* const begin = found->begin;
        kept_ -= size;
        blocks_.erase(std::next(found).base());
        return begin;
    }
    void give_back(MemoryBlock block) {
        std::vector<MemoryBlock> too_old;
        {
            const std::lock_guard lock(mutex_);
            blocks_.push_back(block);
            kept_ += block.bytes;
            while (kept_ > arrival_memory_kept_max) {
                too_old.push_back(blocks_.front());
                kept_ -= blocks_.front().bytes;
                blocks_.erase(blocks_.begin());
            }
        }
        for (const MemoryBlock& one : too_old) {
            ::operator delete(one.begin, alignment);
        }
    }

  private:
    std::mutex mutex_;
    std::vector<MemoryBlock> blocks_;  ///< the oldest first
    std::size_t kept_ = 0;
};

/// Never destroyed: arrays may outlive the end of main().
KeptBlocks& kept_blocks() {
    static auto* const kept = new KeptBlocks;
    return *kept;
}

}  // namespace

std::shared_ptr<std::byte[]> arrival_memory(std::size_t bytes) {
    if (bytes < kept_min) {
        return std::make_shared_for_overwrite<std::byte[]>(bytes);
    }
    std::size_t size = bytes;
    std::byte* begin = kept_blocks().take(bytes, size);
    if (begin == nullptr) {
        begin = new_block(bytes);
    }
    return {begin, [size](std::byte* block) { kept_blocks().give_back({block, size}); }};
}

}  // namespace fluvial::move
