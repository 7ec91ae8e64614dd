// SPDX-License-Identifier: Apache-2.0
/// How the records of steps are laid out (step_record.hpp): what their writer (step_record.cpp) and
/// their readers (step_record_reader.cpp) both know.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "fluvial/base/bytes.hpp"
#include "fluvial/describe/coordinates.hpp"

namespace fluvial::stage {

/// Head of a definition in the arena; the payload follows. `next` is stored last, so a reader that
/// follows it finds a complete definition.
struct DefinitionHead {
    std::atomic<std::uint64_t> next;
    std::uint64_t bytes;
};
enum class DefinitionKind : std::uint8_t { Dataset, Series };

/// What a step says of a dataset's attributes: others than with the definition; said in this very
/// step; in another one than the definition's, whose number follows.
inline constexpr std::uint8_t said_anew = 1, said_now = 2, said_later = 4;
/// In the place of the number of the step that says it, as those before it are lower.
inline constexpr auto in_this_step = std::numeric_limits<std::uint64_t>::max();

inline void encode_indices(ByteWriter& out, const Coordinates& c) {
    out.append(c.begin(), sizeof(Index) * static_cast<std::size_t>(c.size()));
}

inline Coordinates decode_indices(ByteReader& in, int ndim) {
    Coordinates c(ndim, 0);
    for (Index& value : c) {
        value = in.get<Index>();
    }
    return c;
}

}  // namespace fluvial::stage
