// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/dataset.hpp"

#include <algorithm>
#include <limits>

#include "fluvial/base/error.hpp"

namespace fluvial {

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
