// SPDX-License-Identifier: Apache-2.0
/// Which participants are alive, as the kernel knows it: each participant locks one byte of a
/// shared memory file; the kernel drops the lock with its process, whatever killed that. Children
/// by fork do not keep it. Unlike process ids this is exact across pid namespaces and cannot be
/// confused by a recycled pid.
#pragma once

#include <cstdint>

#include "fluvial/host/memory_file.hpp"

namespace fluvial::host {

class AliveLock {
  public:
    AliveLock() = default;
    /// Locks `byte` of the file (an open-file-description lock on a description of our own). Throws
    /// SystemError when another participant holds it.
    AliveLock(const MemoryFile& file, std::int64_t byte);
    /// True while the participant that owns `byte` lives. Asked through a description that holds no
    /// lock on it.
    static bool held(const MemoryFile& file, std::int64_t byte);

  private:
    Descriptor description_;
};

}  // namespace fluvial::host
