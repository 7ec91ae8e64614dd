// SPDX-License-Identifier: Apache-2.0
/// A key that jobs have before they meet: without it a writer's key is random, and in its contact
/// alone.
///
/// The file that FLUVIAL_KEY names has 64 hexadecimal digits, and no other user may read it. Each
/// stream has a key of its own, made of that and of its name: a process that has learned the key of
/// one stream cannot attach to others.
#pragma once

#include <optional>
#include <string>

#include "fluvial/stage/contact.hpp"

namespace fluvial::stage {

inline constexpr const char* shared_key_variable = "FLUVIAL_KEY";

/// The key of this stream for all that have the file; none where FLUVIAL_KEY is not set. Throws
/// InvalidArgument when the file has no key, Refused when others may read or write it, SystemError.
std::optional<Key> shared_key(const std::string& stream);

}  // namespace fluvial::stage
