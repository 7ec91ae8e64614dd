// SPDX-License-Identifier: Apache-2.0
/// Ways of copying into memory that another core reads: ordinary stores, which first fetch a line
/// that the other core has, and non-temporal ones, which go past the caches and fetch nothing, but
/// leave the data in memory for the reader to fetch.
#pragma once

#include <cstddef>
#include <vector>

namespace fluvial::move {

struct CopyMethod {
    const char* name;
    /// What is copied is visible to every thread that sees a later release store.
    void (*copy)(std::byte* to, const std::byte* from, std::size_t bytes);
};

/// The methods that this processor has; the first is std::memcpy, the last non-temporal with the
/// widest stores.
const std::vector<CopyMethod>& copy_methods();

/// The method with the narrowest non-temporal stores, which every processor of its kind has;
/// std::memcpy where there are none.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace fluvial::move
