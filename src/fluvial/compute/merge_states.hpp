// SPDX-License-Identifier: Apache-2.0
/// The step of every merge tree: two states, as they came from encode() on two ranks, become one.
///
///     const auto fresh = [&] { return Reduction(entries, domain); };
///     const auto merge = [&](std::vector<std::byte> a, std::span<const std::byte> b) {
///         return merge_states(fresh, a, b);
///     };
///     const std::vector<std::byte> all = mpi::tree_merge(comm, mine.encode(), merge);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fluvial::compute {

/// What encode() gives after merging `a`, then `b`: order counts where an operator minds it.
/// `fresh` makes something equal to what encoded them that has absorbed nothing: a Reduction, or
/// several as one, with merge_encoded(bytes) and encode(). Local. Throws InvalidArgument when a
/// state belongs to another reduction.
template <class Fresh>
std::vector<std::byte> merge_states(const Fresh& fresh, std::span<const std::byte> a,
                                    std::span<const std::byte> b) {
    auto sum = fresh();
    sum.merge_encoded(a);
    sum.merge_encoded(b);
    return sum.encode();
}

}  // namespace fluvial::compute
