// SPDX-License-Identifier: Apache-2.0
/// What tests with more than 2 GiB need: memory that is not there yet, and whether there is enough.
#pragma once

#include <cstddef>
#include <fstream>
#include <span>
#include <string>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Zeros that take no memory until they are written to.
class SparseZeros {
  public:
    explicit SparseZeros(std::size_t length)
        : memory_(::mmap(nullptr, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
          length_(length) {
        REQUIRE(memory_ != MAP_FAILED);
    }
    ~SparseZeros() { ::munmap(memory_, length_); }
    SparseZeros(const SparseZeros&) = delete;
    SparseZeros& operator=(const SparseZeros&) = delete;
    std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory_), length_}; }

  private:
    void* memory_;
    std::size_t length_;
};

/// Whether every rank sees more than so much memory available; a message when not. Collective.
inline bool enough_memory(const Comm& comm, Index gib) {
    std::ifstream file("/proc/meminfo");
    std::string name;
    Index kib = 0;
    while (file >> name && name != "MemAvailable:") {
    }
    const bool enough = comm.all(file >> kib && kib > gib << 20);
    if (!enough) {
        MESSAGE("not run: less than ", gib, " GiB of memory are available");
    }
    return enough;
}

}  // namespace fluvial::mpi
