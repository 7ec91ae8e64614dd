// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/batch_memory.hpp"

#include <sys/mman.h>

#include "fluvial/base/page.hpp"

namespace fluvial::move {

std::shared_ptr<std::byte> allocate_batches(std::size_t bytes, std::size_t bytes_max) {
    const std::size_t in_pages = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes;
    const bool in_huge_pages = 2 * bytes >= in_pages && in_pages > 0 && in_pages <= bytes_max;
    const std::size_t size = in_huge_pages ? in_pages : bytes;
    std::shared_ptr<std::byte> memory =
        allocate_pages(size, in_huge_pages ? huge_page_bytes : page_bytes());
    // Not everywhere to be had, and never needed.
    if (in_huge_pages) {
        static_cast<void>(::madvise(memory.get(), size, MADV_HUGEPAGE));
    }
    return memory;
}

}  // namespace fluvial::move
