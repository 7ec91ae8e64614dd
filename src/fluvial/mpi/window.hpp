// SPDX-License-Identifier: Apache-2.0
/// Memory that the ranks of a host share, from MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Move-only; to be closed by all ranks together, before its Comm. On a Comm of one rank it is
/// plain memory, without MPI. Failures of MPI are SystemErrors; using a closed Window is an
/// InvalidArgument.
///
///     Window window = Window::allocate_shared(host, 64);
///     std::span<std::byte> theirs = window.memory(1);
///     window.close();
class Window {
  public:
    Window() = default;
    /// `bytes` bytes of shared memory for each rank (they may differ, also be 0), which all ranks
    /// can load from and store to; their content is undefined at first. Collective over `host`,
    /// blocking. Throws InvalidArgument on all ranks when a length is negative or when `host` spans
    /// hosts: get it from Comm::split_by_host.
    static Window allocate_shared(const Comm& host, Index bytes);

    /// The memory of `rank`, directly addressable. Local. Throws InvalidArgument when there is no
    /// such rank.
    std::span<std::byte> memory(int rank) const;
    /// Frees the window. Collective, blocking; does nothing when closed already or after
    /// MPI_Finalize. The destructor frees nothing, keeps the memory and warns on stderr when this
    /// was forgotten.
    void close();
    /// Leaves the window and its memory to MPI_Finalize without a word: a rank died, and freeing
    /// would wait for it. Local.
    void abandon() noexcept;

  private:
    struct State;
    struct Forget {
        void operator()(State* state) const;
    };
    State& use() const;

    std::unique_ptr<State, Forget> state_;
};

}  // namespace fluvial::mpi
