// SPDX-License-Identifier: Apache-2.0
/// Memory for what arrives, used again: the system would have to clear new pages each time, which
/// takes as long as the message itself.
#pragma once

#include <cstddef>
#include <memory>

namespace fluvial::move {

/// Of what is given back, at most so much is kept for later.
inline constexpr std::size_t arrival_memory_kept_max = std::size_t{64} << 20;

/// `bytes` of memory, whatever is in them. It is given back with its last owner, on any thread.
/// Local.
std::shared_ptr<std::byte[]> arrival_memory(std::size_t bytes);

}  // namespace fluvial::move
