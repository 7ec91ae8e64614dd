// SPDX-License-Identifier: Apache-2.0
/// What one Put or Get is about, in Fluvial's terms.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include <adios2/cxx/Variable.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/describe/region.hpp"

namespace fluvial::adios2_engine {

struct Part {
    std::string name;
    DType dtype = DType::UInt8;
    Region region;
    Coordinates shape;
    bool of_first_rank = false;  ///< a value that is one for all ranks
    bool is_char = false;
};

inline Coordinates coordinates_from(const adios2::Dims& dims) {
    Coordinates coordinates;
    for (const std::size_t length : dims) {
        coordinates.push_back(static_cast<Index>(length));
    }
    return coordinates;
}

inline adios2::Dims dims_from(const Coordinates& coordinates) {
    return {coordinates.begin(), coordinates.end()};
}

/// Throws InvalidArgument for selections of which a plugin is told no more than that there is one.
template <class T>
void check_selection(const adios2::Variable<T>& variable, const Region& region) {
    const auto selected = static_cast<std::size_t>(region.volume());
    if (variable.SelectionSize() != selected) {
        throw InvalidArgument(
            Problem{text("the selection of '", variable.Name(), "' is not all of its memory"),
                    text(variable.SelectionSize(), " elements of memory for ", selected),
                    "neither a memory selection nor several steps", "Copy the part into an array"});
    }
    if (variable.BlockID() != 0) {
        throw InvalidArgument(Problem{text("a block of '", variable.Name(), "' is selected"),
                                      text("block ", variable.BlockID()),
                                      "a box of the global array", "Select it by start and count"});
    }
}

/// The region that a variable has selected. Throws InvalidArgument for arrays that have no place in
/// a global one.
template <class T>
Part part_of(const adios2::Variable<T>& variable, int rank, int ranks) {
    Part part{variable.Name(), dtype_of<T>(), {}, {}, false, std::is_same_v<T, char>};
    switch (variable.ShapeID()) {
        case adios2::ShapeID::GlobalValue:
            part.of_first_rank = true;
            break;
        case adios2::ShapeID::LocalValue:
            part.region = {{rank}, {1}};
            part.shape = {ranks};
            break;
        case adios2::ShapeID::GlobalArray:
            part.region = {coordinates_from(variable.Start()), coordinates_from(variable.Count())};
            part.shape = coordinates_from(variable.Shape());
            check_inside(part.region, part.shape, {"a part of", part.name.c_str()});
            break;
        default:
            throw InvalidArgument(
                Problem{text("'", part.name, "' is an array without a place in a global one"),
                        "a local or joined array", "global arrays, single values",
                        "Give it a shape and a start"});
    }
    check_selection(variable, part.region);
    return part;
}

}  // namespace fluvial::adios2_engine
