// SPDX-License-Identifier: Apache-2.0
/// For tests: messages as a broken or hostile peer would send them.
#pragma once

#include <algorithm>
#include <random>

#include "fluvial/base/bytes.hpp"

namespace fluvial::stage {

/// `message` with a few bytes changed, cut off or added; or any bytes at all.
inline Bytes mutated(const Bytes& message, std::mt19937& random) {
    const auto any_bytes = [&](std::size_t count) {
        Bytes bytes(count);
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
        return bytes;
    };
    if (random() % 10 == 0) {
        return any_bytes(random() % (2 * message.size() + 1));
    }
    Bytes changed = message;
    for (unsigned flips = 1 + random() % 4; flips > 0 && !changed.empty(); --flips) {
        std::byte& one = changed[random() % changed.size()];
        one = random() % 2 == 0 ? static_cast<std::byte>(random())
                                : one ^ static_cast<std::byte>(1u << (random() % 8));
    }
    if (random() % 4 == 0) {
        changed.resize(random() % (changed.size() + 1));
    } else if (random() % 8 == 0) {
        const Bytes more = any_bytes(random() % 40);
        changed.insert(changed.end(), more.begin(), more.end());
    }
    return changed;
}

}  // namespace fluvial::stage
