// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/element.hpp"

#include "fluvial/base/error.hpp"

namespace fluvial::stream {

namespace {

constexpr std::size_t element_bytes_max = std::size_t{1} << 40;

void check_length(std::size_t bytes) {
    if (bytes <= element_bytes_max) {
        return;
    }
    throw InvalidArgument(Problem{"a stream's element is too large", text(bytes, " bytes"),
                                  text("up to ", element_bytes_max, " bytes"), ""});
}

}  // namespace

Element Element::of(DType dtype, const Coordinates& shape) {
    Index items = 1;
    for (const Index extent : shape) {
        if (extent < 1) {
            throw InvalidArgument(Problem{"an extent of a stream's element is out of range",
                                          text(extent), "1 or more", ""});
        }
        if (extent > static_cast<Index>(element_bytes_max / size_of(dtype)) / items) {
            throw InvalidArgument(Problem{"a stream's element is too large",
                                          text(shape, " of ", name_of(dtype)),
                                          text("up to ", element_bytes_max, " bytes"), ""});
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
    check_length(bytes);
    Element element;
    element.shape = {static_cast<Index>(bytes)};
    element.bytes = bytes;
    return element;
}

Element Element::varying(std::size_t bytes_max) {
    check_length(bytes_max);
    Element element;
    element.bytes = bytes_max;
    element.varies = true;
    return element;
}

void Element::check() const {
    if (varies) {
        check_length(bytes);
        return;
    }
    const std::size_t needed = of(dtype, shape).bytes;
    if (bytes != needed) {
        throw InvalidArgument(Problem{"the bytes of a stream's element are not those of its items",
                                      text(bytes),
                                      text(needed, " for ", shape, " of ", name_of(dtype)),
                                      "Make it with Element::of, opaque or varying"});
    }
}

}  // namespace fluvial::stream
