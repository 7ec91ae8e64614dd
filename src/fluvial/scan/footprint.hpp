// SPDX-License-Identifier: Apache-2.0
/// How much memory one lane takes, which bounds how many may work at once.
#pragma once

#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

/// Whether units of this part are worked on a slab at a time: units of chunks are, where every
/// other input can be asked for a slab without decoding anything twice.
bool works_in_slabs(const Request& request, std::size_t grid_input, std::size_t part);

/// Whether the chunks of a layout are read without being decoded, any part of them alone.
bool reads_parts(const store::Layout& layout);

/// Most bytes that a lane holds at a time, beside partial results and what is derived from a few
/// thousand elements.
Index lane_bytes(const Request& request, std::size_t grid_input, Index buffer_bytes);

}  // namespace fluvial::scan
