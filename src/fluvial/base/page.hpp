// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace fluvial {

/// The bytes of a page of memory: 4 KiB on x86, on aarch64 up to 64 KiB, which is known when it
/// runs.
std::size_t page_bytes();

/// `bytes`, up to a whole page.
inline std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

struct UnmapPages {
    std::size_t bytes = 0;
    void operator()(std::byte* first) const;
};
using PageMemory = std::unique_ptr<std::byte, UnmapPages>;

/// At least `bytes` of zeros in pages of their own, which begin at a multiple of `alignment`, a
/// power of two. They go back to the system at once: malloc lays small blocks into what large ones
/// leave, and then needs more for the next large one. Throws std::bad_alloc.
PageMemory allocate_pages(std::size_t bytes, std::size_t alignment = 1);

}  // namespace fluvial
