// SPDX-License-Identifier: Apache-2.0
/// The second word of "validate locally, agree across ranks, then communicate".
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>

#include "fluvial/base/terms.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Runs `validate` on every rank; when it throws on any, every rank throws the same class with the
/// first failing rank's message, "rank 2 of 4: MESSAGE (1 further rank failed too)". On a single
/// rank the exception passes unchanged. Collective, blocking. One allreduce of 8 bytes when all is
/// well; three more small collectives otherwise. What does not derive from fluvial::Error arrives
/// as Error. `validate` must not communicate over `comm`.
///
///     agree(comm, [&] { check_inside(region, shape, "chunk"); });
void agree(const Comm& comm, const std::function<void()>& validate);

/// The same, and TimedOut on the ranks that are left waiting when another does not come to agree
/// before `deadline`. One barrier more.
void agree(const Comm& comm, const std::function<void()>& validate, const Deadline& deadline);

/// agree(), and then the same InvalidArgument on every rank unless all have said the same terms: it
/// names what differs, and the values of the first two ranks that differ. Collective, blocking. One
/// allreduce of 40 bytes when all is well; an allgather of the terms where they differ. `say` runs
/// after `validate`, like it, and not on a single rank, where no other can differ.
///
///     agree_on(comm, [&] { check(request); }, [&](Terms& terms) { terms.add("the name", name); });
void agree_on(const Comm& comm, const std::function<void()>& validate,
              const std::function<void(Terms&)>& say);

/// The same, and the least of each of some numbers, as many on every rank, in the same allreduce.
/// `numbers` has places for them, which `say` fills; those of a rank that fails are not looked at.
void agree_on(const Comm& comm, const std::function<void()>& validate,
              const std::function<void(Terms&)>& say, std::span<Index> numbers);

/// The exception, if it is the last one that this thread has got out of an agreement, came out of
/// one among so many ranks: all of them have it. Local.
bool was_agreed(const std::exception_ptr& failure, int ranks);

/// Calls what throws on every rank or on none, because it looks only at what was agreed on: its
/// exception counts as agreed. Local.
void throw_alike(const Comm& comm, const std::function<void()>& call);

/// True on all ranks when the bytes of all ranks are the same. Collective, blocking. Two allreduces
/// of 8 bytes, whatever the length and the number of ranks: compares hashes of 64 bits.
bool all_equal(const Comm& comm, std::span<const std::byte> bytes);

}  // namespace fluvial::mpi
