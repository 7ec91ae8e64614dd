// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/element.hpp"

#include "fluvial/base/error.hpp"

namespace fluvial::stream {

Element Element::of(DType dtype, const Coordinates& shape) {
    Index items = 1;
    for (const Index extent : shape) {
        if (extent < 1) {
            throw InvalidArgument(Problem{"an extent of a stream's element is out of range",
                                          text(extent), "1 or more", ""});
        }
        items *= extent;
    }
    Element element;
    element.dtype = dtype;
    element.shape = shape;
    element.bytes = static_cast<std::size_t>(items) * size_of(dtype);
    return element;
}

Element Element::opaque(std::size_t bytes) {
    if (bytes == 0) {
        throw InvalidArgument(Problem{"a stream's element has no bytes", "0", "1 or more", ""});
    }
    Element element;
    element.shape = {static_cast<Index>(bytes)};
    element.bytes = bytes;
    return element;
}

Element Element::varying(std::size_t bytes_max) {
    Element element;
    element.bytes = bytes_max;
    element.varies = true;
    return element;
}

}  // namespace fluvial::stream
