// SPDX-License-Identifier: Apache-2.0
/// Reduction of serialised partial results whose merging only the caller knows.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Merges partial `b` into `a` and returns the result; `a` comes from lower ranks than `b`. Lengths
/// may change.
using Merge =
    std::function<std::vector<std::byte>(std::vector<std::byte> a, std::span<const std::byte> b)>;

/// All ranks' partials merged, on every rank, or on rank 0 alone (empty elsewhere) without
/// `result_on_all`.
///
/// Collective, blocking. A binomial tree of ceil(log2 P) rounds: in round k, rank r with r mod
/// 2^(k+1) = 0 merges what rank r + 2^k sends. The order depends on P alone and never on timing, so
/// results are bitwise reproducible for a given P; neighbours are merged in rank order, so `merge`
/// need be associative but not commutative. Messages: P - 1 up, each as long as a partial, and a
/// broadcast down of the result (or of one byte). Peak memory a rank: two partials.
///
/// When `merge` throws on a rank, every rank throws the same class with that rank's message (the
/// one nearest to rank 0 in tree order when several do); the remaining merges above it are left
/// out. Source: the binomial tree of R. Thakur, R. Rabenseifner, W. Gropp,
/// doi:10.1177/1094342005051521.
std::vector<std::byte> tree_merge(const Comm& comm, std::vector<std::byte> mine, const Merge& merge,
                                  bool result_on_all = true);

}  // namespace fluvial::mpi
