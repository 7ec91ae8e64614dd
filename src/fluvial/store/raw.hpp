// SPDX-License-Identifier: Apache-2.0
/// Raw binary files: nothing but numbers, whose layout the caller states.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/store/file.hpp"

namespace fluvial::store {

/// A contiguous row-major array in a file.
struct RawLayout {
    DType dtype = DType::Float64;
    Coordinates shape;
    std::uint64_t offset = 0;  ///< bytes before its first element
    bool swapped = false;      ///< in the byte order that is not this machine's
    std::string name = "data";
    std::vector<std::string> dimensions = {};  ///< empty, or a name an axis ("" for none)
    Attributes attributes = {};
};

/// Local. Datasets may overlap; the file may be longer than they say. A dimension that several
/// datasets name must have one length. Throws SystemError; InvalidArgument with the sizes when the
/// file is shorter than stated, or for a layout that makes no sense.
std::shared_ptr<const File> open_raw(const std::string& path, const std::vector<RawLayout>& layouts,
                                     const Attributes& attributes = {});
std::shared_ptr<const File> open_raw(const std::string& path, const RawLayout& layout);

}  // namespace fluvial::store
