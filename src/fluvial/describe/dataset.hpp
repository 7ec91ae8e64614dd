// SPDX-License-Identifier: Apache-2.0
/// What a dataset is, wherever it is kept: in a live step, a file, or a library in another
/// language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fluvial/describe/attribute.hpp"
#include "fluvial/describe/chunk.hpp"

namespace fluvial {

struct DatasetDescription {
    std::string name;  ///< a path without a leading slash: "data/0/meshes/E/x"
    DType dtype = DType::UInt8;
    Coordinates shape;  ///< empty for a scalar
    std::vector<std::string>
        dimensions;  ///< a name an axis, empty where there is none; or none at all
    /// Numbers of one element are scalars, others vectors. Unsigned 64-bit numbers above
    /// int64's range keep their bits.
    Attributes attributes;
    /// What all elements are, and the file has instead of them: openPMD's constant record
    /// component.
    std::optional<Attribute> constant{};
    /// Of a step in memory: one a put, of all writer ranks, in their order. In a file chunk i is
    /// found when it is needed, by the dataset's layout (store/layout.hpp).
    std::vector<Chunk> chunks{};
    /// Of a live step: in which step its attributes were given, as its writer's ranks count steps;
    /// 0: in none.
    std::uint64_t said_in = 0;
};

/// Throws InvalidArgument unless a dataset can have this name in streams and files: words with
/// single slashes between them, none of them ".", without a NUL.
void check_dataset_name(std::string_view name);

/// Throws InvalidArgument unless 63 bits count the bytes of a dataset of this global shape, which
/// has no negative extent.
void check_size(std::string_view name, DType dtype, const Coordinates& shape);

}  // namespace fluvial
