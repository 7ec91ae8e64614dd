// SPDX-License-Identifier: Apache-2.0
/// The inverse of HDF5's filter shuffle.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace fluvial::store {

/// `planes` holds the first bytes of all elements, then all second bytes and so on; bytes that make
/// no whole element come last, as they were. `elements` is as long and does not overlap it.
void unshuffle(std::span<const std::byte> planes, std::size_t element_bytes,
               std::span<std::byte> elements);

/// Of such planes only elements [first, first + count); `elements` has room for these.
void unshuffle_part(std::span<const std::byte> planes, std::size_t element_bytes, std::size_t first,
                    std::size_t count, std::byte* elements);

/// The fast way of one instruction set, for `count` elements of 2, 4 or 8 bytes whose planes are
/// `plane_bytes` apart; returns how many elements, from the first on, it did: all but a few.
struct Unshuffler {
    std::string_view isa;
    std::size_t (*run)(const std::byte* planes, std::size_t plane_bytes, std::size_t count,
                       std::size_t element_bytes, std::byte* elements);
};

/// The ways that this CPU can run; the best one last.
const std::vector<Unshuffler>& unshufflers();
/// unshuffle() by one of them.
void unshuffle(std::span<const std::byte> planes, std::size_t element_bytes,
               std::span<std::byte> elements, const Unshuffler& by);

}  // namespace fluvial::store
