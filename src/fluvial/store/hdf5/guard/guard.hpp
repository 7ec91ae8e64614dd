// SPDX-License-Identifier: Apache-2.0
/// What stands between a file and libhdf5, which takes on trust some of what it decodes. Which
/// check is for which fault is told in docs/explanation/hdf5_guard.md.
///
/// Two rules hold for every check. What is wrong by every version of the format is refused. What is
/// newer than this guard (a version of a message, a class of types) is passed on without a look:
/// libhdf5 refuses what it does not know, and reads what it knows better than the guard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fluvial/store/hdf5/sizes.hpp"

namespace fluvial::store {

/// The guard of one open file. Used by one thread at a time.
class Hdf5Guard {
  public:
    /// What libhdf5 says that it reads.
    enum class Kind : std::uint8_t { GlobalHeap, LocalHeap, Header };

    virtual ~Hdf5Guard() = default;
    /// Why libhdf5 must not decode what it has read from `address` (in the file) on, or null.
    virtual const char* check(Kind kind, std::uint64_t address,
                              std::span<const std::byte> bytes) = 0;
};

/// The guard of a file, which lives longer; null where none is needed (needed.hpp). Throws
/// InvalidArgument.
std::unique_ptr<Hdf5Guard> guard_of(const InputFile& file, const Hdf5Sizes& sizes);

}  // namespace fluvial::store
