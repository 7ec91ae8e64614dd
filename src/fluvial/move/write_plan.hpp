// SPDX-License-Identifier: Apache-2.0
/// Which rank writes which part of a shared file: each writer gets as much of the data as the
/// others, wherever it lies, because what keeps all waiting is the one that writes most (Bui et al.
/// 2016, section 6). Local, and the same on all ranks that are given the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fluvial::move {

/// Bytes of a file that one rank has.
struct Extent {
    std::uint64_t offset = 0, bytes = 0;
    int rank = 0;
    std::uint64_t end() const { return offset + bytes; }
};

/// A part of the file that one rank writes at a time.
struct WriteWindow {
    std::uint64_t begin = 0, end = 0;
};

/// On each host the rank that has most data, the lower one of equals; then the next ones of each
/// host, until there are `count` (0: one for each host). In the order of the ranks.
std::vector<int> choose_writers(std::span<const std::string> host_of_rank,
                                std::span<const Extent> extents, std::size_t count);

/// Of each of `writers` the windows that it writes one after the other. They begin and end at
/// multiples of `align`, hold `window_bytes` of the file at most (a multiple of `align`), and skip
/// what no rank has. `extents` are sorted by offset and do not overlap.
std::vector<std::vector<WriteWindow>> plan_windows(std::span<const Extent> extents,
                                                   std::size_t writers, std::uint64_t align,
                                                   std::uint64_t window_bytes);

/// Sorts by offset and leaves out what is empty. Throws InvalidArgument where two overlap.
std::vector<Extent> sorted_extents(std::vector<Extent> extents);

}  // namespace fluvial::move
