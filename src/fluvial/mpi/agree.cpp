// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/agree.hpp"

#include <bit>

#include "fluvial/base/hash.hpp"
#include "fluvial/mpi/failure.hpp"

namespace fluvial::mpi {

namespace {

void raise_first(const Comm& comm, const std::optional<Failure>& mine) {
    const Index first = comm.min(mine ? comm.rank() : comm.size());
    if (first == comm.size()) return;
    const Index others = comm.sum(mine ? 1 : 0) - 1;
    const auto bytes = mine ? mine->to_bytes() : std::vector<std::byte>();
    Failure::from_bytes(comm.bcast(bytes, static_cast<int>(first)))
        .raise(comm.size(), static_cast<int>(others));
}

}  // namespace

void agree(const Comm& comm, const std::function<void()>& validate) {
    if (comm.size() == 1) {
        validate();
        return;
    }
    raise_first(comm, failure_of(comm.rank(), validate));
}

void agree(const Comm& comm, const std::function<void()>& validate, const Deadline& deadline) {
    if (comm.size() == 1) {
        validate();
        return;
    }
    const auto mine = failure_of(comm.rank(), validate);
    comm.barrier(deadline);
    raise_first(comm, mine);
}

bool all_equal(const Comm& comm, std::span<const std::byte> bytes) {
    const auto mine = std::bit_cast<Index>(hash_of(bytes));
    return comm.min(mine) == comm.max(mine);
}

}  // namespace fluvial::mpi
