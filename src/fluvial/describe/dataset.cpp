// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/dataset.hpp"

#include <algorithm>
#include <limits>

#include "fluvial/base/error.hpp"

namespace fluvial {

void check_dataset_name(std::string_view name) {
    if (name.find('\0') != std::string_view::npos) {
        throw InvalidArgument(Problem{"the name of a dataset has a NUL, at which HDF5 would end it",
                                      text("'", name, "'"), "any other characters",
                                      "Leave it out"});
    }
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find('/', begin), name.size());
        if (const auto word = name.substr(begin, end - begin); word.empty() || word == ".") {
            throw InvalidArgument(Problem{"a dataset cannot be called that", text("'", name, "'"),
                                          "words with single slashes between them",
                                          "For example 'meshes/E/x'"});
        }
        begin = end + 1;
    }
}

void check_size(std::string_view name, DType dtype, const Coordinates& shape) {
    constexpr Index bytes_max = std::numeric_limits<Index>::max();
    Index bytes = static_cast<Index>(size_of(dtype));
    bool overflow = false;
    for (const Index extent : shape) {
        overflow = __builtin_mul_overflow(bytes, extent, &bytes) || overflow;
    }
    if (overflow && std::find(shape.begin(), shape.end(), 0) == shape.end()) {
        throw InvalidArgument(Problem{text("'", name, "' is too large"),
                                      text("shape ", shape, " of ", name_of(dtype)),
                                      text("at most ", bytes_max, " bytes"),
                                      "Look for a mistake in the global shape, or put parts of it "
                                      "as datasets of their own"});
    }
}

}  // namespace fluvial
