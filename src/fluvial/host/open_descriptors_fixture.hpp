// SPDX-License-Identifier: Apache-2.0
/// How many descriptors this process has open, for tests that check that none is left.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace fluvial::host {

inline std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace fluvial::host
