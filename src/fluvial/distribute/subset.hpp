// SPDX-License-Identifier: Apache-2.0
/// A part of a request, for a strategy that has others do the rest.
#pragma once

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

struct Subset {
    Request request;
    std::vector<std::size_t> chunks;  ///< which chunk of the whole request each one is of
    std::vector<int> readers;         ///< which reader of the whole request each one is

    void add(const Request& whole, const Piece& piece);
};

/// No chunk yet, and all readers.
Subset with_all_readers(const Request& whole);

/// What `part` says about the subset, said about the whole request.
void append(Distribution& to, const Distribution& part, const Subset& subset);

/// The distribution with what it has left given to `fallback`.
Distribution complete(const Request& whole, Distribution made, const Strategy& fallback);

/// What holds when both hold for parts of a request that are done side by side by other readers, or
/// one after the other by the same.
Bounds beside(const Bounds& a, const Bounds& b);
Bounds after(const Bounds& a, const Bounds& b);

}  // namespace fluvial::distribute
