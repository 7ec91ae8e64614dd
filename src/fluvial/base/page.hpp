// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace fluvial {

/// The bytes of a page of memory: 4 KiB on x86, on aarch64 up to 64 KiB, which is known when it
/// runs.
std::size_t page_bytes();

/// `bytes`, up to a whole page.
inline std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

}  // namespace fluvial
