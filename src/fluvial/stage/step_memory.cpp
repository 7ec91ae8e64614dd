// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_memory.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace fluvial::stage {
namespace {

constexpr std::size_t large_page = 2 << 20;

/// Asks for large pages, of which the system clears one as fast as many small ones, for those that
/// lie in the block. If there are none, it only takes longer.
void use_large_pages(std::byte* begin, std::size_t bytes) {
    void* first = begin;
    if (std::align(large_page, large_page, first, bytes) != nullptr) {
        static_cast<void>(::madvise(first, bytes / large_page * large_page, MADV_HUGEPAGE));
    }
}

}  // namespace

void StepMemory::Free::operator()(std::byte* block) const {
    ::operator delete(block);
}

std::byte* StepMemory::take(std::size_t bytes) {
    const auto found = spare_.lower_bound(bytes);
    if (found != spare_.end() && found->first / 2 <= bytes) {
        return taken_.insert(spare_.extract(found))->second.get();
    }
    auto* const begin = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1)));
    use_large_pages(begin, bytes);
    return taken_.emplace(bytes, begin)->second.get();
}

void StepMemory::end_step() {
    spare_ = std::move(taken_);
    taken_.clear();
}

}  // namespace fluvial::stage
