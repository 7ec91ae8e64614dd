// SPDX-License-Identifier: Apache-2.0
/// Filter messages of HDF5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fluvial::store {

/// Why a filter message must not be trusted, or null. `decoded_bytes`: how many bytes of a chunk
/// the filters say to decode that only libhdf5 undoes, if there are any; they do not look at the
/// chunk.
const char* check_filters(std::span<const std::byte> message, std::uint64_t& decoded_bytes);

}  // namespace fluvial::store
