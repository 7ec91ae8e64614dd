// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/page.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace fluvial {

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

void UnmapPages::operator()(std::byte* first) const {
    ::munmap(first, bytes);
}

PageMemory allocate_pages(std::size_t bytes, std::size_t alignment) {
    const std::size_t size = whole_pages(std::max<std::size_t>(1, bytes));
    const std::size_t spare = std::max(alignment, page_bytes()) - page_bytes();
    if (size < bytes || size + spare < size) {
        throw std::bad_alloc();
    }
    void* const mapped =
        ::mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        throw std::bad_alloc();
    }
    auto* const begin = static_cast<std::byte*>(mapped);
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
    if (before > 0) {
        ::munmap(begin, before);
    }
    if (before < spare) {
        ::munmap(begin + before + size, spare - before);
    }
    return PageMemory(begin + before, UnmapPages{size});
}

}  // namespace fluvial
