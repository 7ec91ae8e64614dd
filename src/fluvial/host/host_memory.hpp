// SPDX-License-Identifier: Apache-2.0
/// Memory that all ranks of a host address: of rings and bells, and of what they deal out.
///
/// It is a file without a name (memfd), which the other ranks open through /proc. So neither the
/// size of /dev/shm limits it (64 MiB in many containers, where a process that touches more than
/// that is killed by a SIGBUS) nor does anything of it outlive the job. Pages are taken when
/// touched.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "fluvial/host/memory_file.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/window.hpp"

namespace fluvial::host {

/// Move-only.
class HostMemory {
  public:
    /// None.
    HostMemory() = default;
    /// `bytes` for each rank (they may differ, also be 0). Collective over `host`, blocking; two
    /// small collectives. As by_mpi where ranks may not open each other's files.
    static HostMemory allocate(const mpi::Comm& host, std::size_t bytes);
    /// The same by MPI, which may keep it in /dev/shm. Pages are taken at once. Throws SystemError
    /// on all ranks of `host` when there is too little room.
    static HostMemory by_mpi(const mpi::Comm& host, std::size_t bytes);

    /// The memory of a rank of the host.
    std::span<std::byte> memory(int rank) const { return parts_[static_cast<std::size_t>(rank)]; }
    bool is_mpis() const { return by_mpi_; }
    /// No rank touches the memory any more. Collective, blocking.
    void close();
    /// Other ranks may still touch the memory: this rank's mapping goes with this object. Local.
    void abandon() noexcept;

  private:
    Mapping mapping_;
    mpi::Window window_;
    std::vector<std::span<std::byte>> parts_;
    bool by_mpi_ = false;
};

}  // namespace fluvial::host
