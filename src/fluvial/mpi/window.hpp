// SPDX-License-Identifier: Apache-2.0
/// Memory that other ranks read and write without this one's help (MPI one-sided communication).
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
///     Window window = Window::create(comm, memory, owner);
///     {
///         Window::Lock lock = window.lock(1, Window::Access::Shared);
///         lock.get(copy, 1, 0);  // the first copy.size() bytes of rank 1's memory
///     }
///     window.close();
class Window {
  public:
    enum class Access { Shared, Exclusive };
    class Lock;

    Window() = default;
    /// `bytes` bytes of shared memory for each rank (they may differ, also be 0), which all ranks
    /// can load from and store to; their content is undefined at first. Collective over `host`,
    /// blocking. Throws InvalidArgument on all ranks when a length is negative or when `host` spans
    /// hosts: get it from Comm::split_by_host.
    static Window allocate_shared(const Comm& host, Index bytes);
    /// Opens `memory` of any length to gets and puts; `owner` keeps it alive until close() (and
    /// beyond, when close() is forgotten). Collective over `comm`, blocking; one allgather of 8
    /// bytes besides MPI_Win_create.
    static Window create(const Comm& comm, std::span<std::byte> memory,
                         std::shared_ptr<const void> owner);

    /// The memory of `rank`, directly addressable. Local. Throws InvalidArgument unless the window
    /// came from allocate_shared or `rank` is this one.
    std::span<std::byte> memory(int rank) const;
    /// Separates everybody's stores and loads before from those after. Collective, blocking.
    void fence() const;
    /// Passive access to the memory of one rank, or of all ranks (shared). Blocking while another
    /// rank holds a conflicting lock; the target does not take part.
    Lock lock(int rank, Access access) const;
    Lock lock_all() const;
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

/// Access to remote memory until it goes out of scope. Must end before the Window is closed.
class Window::Lock {
  public:
    Lock(Lock&& other) noexcept : state_(other.state_), rank_(other.rank_) {
        other.state_ = nullptr;
    }
    Lock& operator=(Lock&&) = delete;
    /// Ends the access epoch. Blocking, not collective.
    ~Lock();

    /// Copies between local memory and that of `rank` from byte `offset` on, any length. Blocking:
    /// complete on return, for put at the target as well. Throws InvalidArgument when the range
    /// leaves the target's memory or `rank` is not locked. One one-sided operation and a flush.
    void get(std::span<std::byte> into, int rank, Index offset) const;
    void put(std::span<const std::byte> from, int rank, Index offset) const;
    /// Makes stores of other ranks to shared memory visible here, and own ones there (a memory
    /// barrier). Local.
    void sync() const;

  private:
    friend class Window;
    Lock(State* state, int rank) : state_(state), rank_(rank) {}
    void check_range(std::size_t bytes, int rank, Index offset) const;

    State* state_;
    int rank_;  ///< -1: all
};

}  // namespace fluvial::mpi
