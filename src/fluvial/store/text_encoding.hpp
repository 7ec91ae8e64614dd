// SPDX-License-Identifier: Apache-2.0
/// Names and text attributes of files are UTF-8 by today's conventions and Latin-1 by old habit.
#pragma once

#include <string>
#include <string_view>

namespace fluvial::store {

bool is_utf8(std::string_view bytes);

/// `bytes` when they are UTF-8; otherwise taken for Latin-1, of which no byte is invalid.
std::string to_utf8(std::string bytes);

}  // namespace fluvial::store
