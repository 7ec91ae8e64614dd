// SPDX-License-Identifier: Apache-2.0
/// Where ranks that share cores sleep until another rank has something for them.
#pragma once

#include "fluvial/host/doorbell.hpp"
#include "fluvial/host/host_memory.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::host {

/// The bells of the ranks of one host.
class Bells {
  public:
    /// No rank has a bell.
    Bells() = default;
    /// Collective over `host`, blocking.
    explicit Bells(const mpi::Comm& host);

    /// Null when there are none.
    Bell* of(int host_rank) const;
    /// Collective, blocking.
    void close() {
        any_ = false;
        memory_.close();
    }
    void abandon() noexcept { memory_.abandon(); }

  private:
    HostMemory memory_;
    bool any_ = false;
};

}  // namespace fluvial::host
