// SPDX-License-Identifier: Apache-2.0
/// Memory that messages leave from.
#pragma once

#include <cstddef>
#include <memory>

namespace fluvial::move {

inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

/// Begins at a page, or at a huge page where `bytes` fill half of whole ones, which are
/// `bytes_max` at most; the system is then asked to use such pages, of which MPI finds 512 times
/// fewer. Throws std::bad_alloc.
std::shared_ptr<std::byte> allocate_batches(std::size_t bytes, std::size_t bytes_max);

}  // namespace fluvial::move
