// SPDX-License-Identifier: Apache-2.0
/// A communicator of the library's own: the user's is duplicated once, so that messages of the two
/// never mix.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/describe/coordinates.hpp"
#include "fluvial/mpi/request.hpp"

namespace fluvial::mpi {

/// Tags that callers may use: 0 to tag_max. Higher ones belong to this folder.
inline constexpr int tag_max = 16383;
inline constexpr int tag_tree_merge = tag_max + 1;

/// A message that has been matched: no other receive gets it. Its bytes are there when `message` is
/// complete, and then come from take().
struct Incoming {
    int source = 0;
    Request message;
};

/// Move-only; owns its communicator until close(). Default constructed (and moved from) it is
/// serial: rank 0 of 1, usable without MPI_Init, and no method calls MPI. After close() rank() and
/// size() still answer, and every method that needs the communicator throws InvalidArgument;
/// SystemError when MPI fails: errors are returned on the duplicate, MPI never aborts the job.
/// Collective methods must be called by all ranks in the same order; they wait by wait_until(), and
/// after what ends that wait early (a look-out, Ctrl-C) every further collective method of this
/// Comm throws InvalidArgument. One thread at a time may use a Comm, but messages may be exchanged
/// at any time by threads of their own if MPI was initialised with MPI_THREAD_MULTIPLE. P below is
/// size().
///
///     Comm comm = Comm::duplicate(MPI_COMM_WORLD);
///     const Index offset = comm.exscan_sum(n_local);
///     comm.close();
class Comm {
  public:
    Comm() = default;
    /// Collective over `user`, blocking. Throws InvalidArgument when MPI is not initialised or
    /// already finalised, or when `user` is MPI_COMM_NULL or an inter-communicator. Info hints of
    /// `user` (such as mpi_assert_no_any_tag) are not inherited.
    static Comm duplicate(MPI_Comm user);
    /// As duplicate, of the communicator with this Fortran handle (mpi4py: `comm.py2f()`).
    static Comm from_fortran(long handle);

    int rank() const;
    int size() const;
    /// The Fortran handle (mpi4py: `MPI.Comm.f2py`); for a serial one InvalidArgument. Local.
    long to_fortran() const;
    /// True when no MPI communicator stands behind this object. One of a single rank is not serial.
    bool serial() const { return state_ == nullptr; }
    /// MPI_COMM_NULL when serial. Local. For use inside mpi/.
    MPI_Comm handle() const;

    /// Collective, blocking. log2(P) messages a rank.
    void barrier() const;
    /// The same, but throws TimedOut at the deadline: a dead or stopped peer is an error and not a
    /// hang. A later call of either barrier() resumes the one that timed out, so a peer that was
    /// only late still meets it.
    void barrier(const Deadline& deadline) const;

    /// A barrier to be tested. Local; complete at once when serial.
    Request ibarrier() const;

    /// The root's `bytes`, of any length (past 2 GiB too), on every rank; other ranks' `bytes` are
    /// ignored. Collective, blocking. Two broadcasts: 8 bytes, then the payload. A rank without
    /// memory for it is a SystemError on all.
    std::vector<std::byte> bcast(std::span<const std::byte> bytes, int root) const;
    /// The `bytes` of all ranks, of any lengths, by rank. Collective, blocking. An allgather of 8
    /// bytes, then one allgatherv; P broadcasts instead when they sum to more than 2 GiB.
    std::vector<std::vector<std::byte>> allgather(std::span<const std::byte> bytes) const;
    /// The `mine` of all ranks, by rank. Collective, blocking; as above.
    template <class T>
    std::vector<T> allgather_values(const T& mine) const {
        static_assert(std::is_trivially_copyable_v<T>);
        std::vector<T> all;
        for (const auto& bytes : allgather(std::as_bytes(std::span(&mine, 1)))) {
            std::memcpy(&all.emplace_back(), bytes.data(), sizeof(T));
        }
        return all;
    }

    /// Sum of `n` over the lower ranks; 0 on rank 0. Collective, blocking, 8 bytes in log2(P)
    /// messages, as the next four.
    Index exscan_sum(Index n) const;
    Index sum(Index n) const;
    Index min(Index n) const;
    Index max(Index n) const;
    /// Each rank has a number for every rank, and gets the sum of what all have for it. Collective,
    /// blocking, 8 P bytes a rank at first.
    Index sum_for_each(const std::vector<Index>& numbers) const;
    bool all(bool here) const;
    bool any(bool here) const { return !all(!here); }
    /// The least of each entry; as many on every rank. Collective, blocking, one allreduce.
    std::vector<Index> min_of_each(std::vector<Index> numbers) const;
    /// The same, to be tested; once complete, what the Request has are the minima's bytes. Local.
    Request imin_of_each(const std::vector<Index>& numbers) const;

    /// Number of ranks that share memory with this one, itself included. Collective, blocking.
    int ranks_on_this_host() const;
    /// MPI's split blocks: a rank that dies meanwhile leaves the others in it. OnThread: where MPI
    /// allows it (MPI_THREAD_MULTIPLE) another thread makes that call, some 50 us slower, and this
    /// one waits by wait_until().
    enum class Split { Here, OnThread };
    /// The ranks that share memory with this one, in the order of this communicator. Collective,
    /// blocking; the result is to be closed.
    Comm split_by_host(Split how = Split::Here) const;
    /// The ranks with the same non-negative `color`, ordered by `key`, then rank. Collective,
    /// blocking; the result is to be closed. Throws InvalidArgument on all ranks when any color is
    /// negative.
    Comm split(int color, int key, Split how = Split::Here) const;

    /// Throws InvalidArgument unless messages can be exchanged with rank `other` on `tag`. Local.
    void check_message(int other, int tag) const;
    /// One message of any length, of which it makes a copy. Blocking until MPI has it. Throws
    /// InvalidArgument, before anything is sent, for a rank or tag out of range, and always when
    /// serial: there is no rank to receive.
    void send(std::span<const std::byte> bytes, int destination, int tag) const;
    /// The next message from `source` with `tag`, whatever its length. Blocking.
    std::vector<std::byte> recv(int source, int tag) const;
    /// The same, but TimedOut at the deadline.
    std::vector<std::byte> recv(int source, int tag, const Deadline& deadline) const;
    /// The next message with `tag` that has begun to arrive, from any rank or from `source`, and of
    /// any length; nothing when there is none. Local, does not block. One probe.
    std::optional<Incoming> try_recv(int tag) const;
    std::optional<Incoming> try_recv(int source, int tag) const;
    /// As send, but local: returns at once with a Request that owns `bytes`.
    Request isend(std::vector<std::byte> bytes, int destination, int tag) const;
    /// As above, from memory that `owner` keeps alive and unchanged until the Request is complete:
    /// no copy.
    Request isend(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                  int destination, int tag) const;

    /// Frees the communicator. Collective; local and free of messages when serial, closed or after
    /// MPI_Finalize. After a barrier that timed out and never completed, or another collective
    /// operation that was broken off, the communicator is left to MPI_Finalize, because freeing it
    /// could wait for the lost peer; so it is after leave_messages(). The destructor frees nothing
    /// and warns on stderr when this was forgotten.
    void close();
    /// Leaves the communicator to MPI_Finalize without a word: a rank died, and freeing might wait
    /// for it. Local.
    void abandon() noexcept;
    /// A collective exchange of messages between its ranks was broken off: every further collective
    /// operation is an InvalidArgument, and close() frees nothing. Local; without effect when
    /// serial.
    void break_off() const noexcept;
    /// A message may be on its way to this rank or from it that no rank will receive. close() then
    /// frees nothing: MPI would give the number of this communicator to a later one, whose receives
    /// would take the message. Local; without effect when serial or closed.
    void leave_messages() const noexcept;

  private:
    friend class Teams;  // makes communicators of MPI's
    struct State;
    struct Forget {
        void operator()(State* state) const;
    };

    static Comm adopt(MPI_Comm owned);
    std::optional<Incoming> match(int source, int tag) const;
    Request& begin_barrier() const;
    MPI_Comm for_collective() const;
    Comm split_by(const std::function<int(MPI_Comm*)>& call, Split how, const char* what) const;
    void come_together() const;
    std::vector<std::byte> finish(Request collective) const;
    std::vector<Index> allreduce(std::vector<Index> numbers, MPI_Op op, const char* what) const;

    std::unique_ptr<State, Forget> state_;
};

}  // namespace fluvial::mpi
