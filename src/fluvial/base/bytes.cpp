// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/bytes.hpp"

namespace fluvial {

// Where GCC 12 inlines this, it warns of copies beyond the end that never happen.
void ByteWriter::append(const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
}

}  // namespace fluvial
