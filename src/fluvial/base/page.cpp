// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/page.hpp"

#include <unistd.h>

namespace fluvial {

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace fluvial
