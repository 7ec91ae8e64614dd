// SPDX-License-Identifier: Apache-2.0
/// Numbers of things in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "fluvial/base/error.hpp"

namespace fluvial {

/// "1 node", "2 nodes".
inline std::string counted(std::size_t count, std::string_view one) {
    return text(count, " ", one, count == 1 ? "" : "s");
}

}  // namespace fluvial
