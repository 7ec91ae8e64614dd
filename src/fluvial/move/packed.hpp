// SPDX-License-Identifier: Apache-2.0
/// The elements of a view as bytes that follow each other.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "fluvial/describe/array_view.hpp"

namespace fluvial::move {

struct PackedBytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};

/// The bytes of the view itself, which `owner` keeps, where they lie together; otherwise a copy.
PackedBytes packed(const ArrayView& view, std::shared_ptr<const void> owner);

}  // namespace fluvial::move
