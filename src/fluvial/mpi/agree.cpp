// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/agree.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "fluvial/base/hash.hpp"
#include "fluvial/mpi/failure.hpp"

namespace fluvial::mpi {

namespace {

struct Agreed {
    std::exception_ptr failure;
    int ranks = 0;
};
thread_local Agreed last_agreed;

/// Calls `raise`, which throws the same on all ranks, if it throws.
template <class Raise>
void agreed(const Comm& comm, Raise&& raise) {
    try {
        raise();
    } catch (...) {
        last_agreed = {std::current_exception(), comm.size()};
        throw;
    }
}

/// What the lowest failing rank, `first`, reports; nothing when that is comm.size().
void raise_first(const Comm& comm, const std::optional<Failure>& mine, Index first) {
    if (first == comm.size()) {
        return;
    }
    const Index others = comm.sum(mine ? 1 : 0) - 1;
    const auto bytes = mine ? mine->to_bytes() : std::vector<std::byte>();
    const Failure failure = Failure::from_bytes(comm.bcast(bytes, static_cast<int>(first)));
    agreed(comm, [&] { failure.raise(comm.size(), static_cast<int>(others)); });
}

void raise_first(const Comm& comm, const std::optional<Failure>& mine) {
    raise_first(comm, mine, comm.min(mine ? comm.rank() : comm.size()));
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

void agree_on(const Comm& comm, const std::function<void()>& validate,
              const std::function<void(Terms&)>& say) {
    agree_on(comm, validate, say, {});
}

void agree_on(const Comm& comm, const std::function<void()>& validate,
              const std::function<void(Terms&)>& say, std::span<Index> numbers) {
    if (comm.size() == 1) {
        validate();
        if (!numbers.empty()) {
            Terms terms;
            say(terms);
        }
        return;
    }
    constexpr Index silent = std::numeric_limits<Index>::max();
    Terms terms;
    const auto mine = failure_of(comm.rank(), [&] {
        validate();
        say(terms);
    });
    const Index all = number_of(terms.of_all());
    const Index some = number_of(terms.of_some());
    const bool speaks = !terms.of_some().empty();
    // Minima of numbers and of their opposites: both come from one rank only if all are equal.
    std::vector<Index> least{mine ? comm.rank() : comm.size(), all, -all, speaks ? some : silent,
                             speaks ? -some : silent};
    const std::size_t own = least.size();
    least.insert(least.end(), numbers.begin(), numbers.end());
    least = comm.min_of_each(std::move(least));
    std::copy(least.begin() + static_cast<std::ptrdiff_t>(own), least.end(), numbers.begin());
    raise_first(comm, mine, least[0]);
    const bool nobody_speaks = least[3] == silent;
    if (least[1] == -least[2] && (nobody_speaks || least[3] == -least[4])) {
        return;
    }
    std::vector<Terms> by_rank;
    for (const Bytes& theirs : comm.allgather(terms.encode())) {
        by_rank.push_back(Terms::decode(theirs));
    }
    agreed(comm, [&] { check_alike(by_rank); });
}

void throw_alike(const Comm& comm, const std::function<void()>& call) {
    agreed(comm, call);
}

bool was_agreed(const std::exception_ptr& failure, int ranks) {
    return failure && failure == last_agreed.failure && ranks == last_agreed.ranks;
}

bool all_equal(const Comm& comm, std::span<const std::byte> bytes) {
    const auto mine = std::bit_cast<Index>(hash_of(bytes));
    return comm.min(mine) == comm.max(mine);
}

}  // namespace fluvial::mpi
