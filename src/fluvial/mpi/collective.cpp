// SPDX-License-Identifier: Apache-2.0
// Collective operations of Comm.
#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

namespace {

/// From here on a failed allocation is likely enough to spend a message on it.
constexpr Index large_bytes = Index{64} << 20;

using Buffer = std::vector<std::byte>;

/// `bytes` bytes, the same count on all ranks. A rank that cannot have them would leave the others
/// waiting in the transfer, so the ranks agree first. Collective when `bytes` is large.
Buffer allocate(const Comm& comm, Index bytes) {
    Buffer buffer;
    if (bytes < large_bytes) {
        buffer.resize(static_cast<std::size_t>(bytes));
        return buffer;
    }
    bool enough = true;
    try {
        buffer.resize(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
        enough = false;
    }
    if (!comm.all(enough)) {
        throw SystemError(Problem{"a rank has no memory for a message", text(bytes, " bytes"), "",
                                  "Send less at once, or start fewer ranks per host"});
    }
    return buffer;
}

/// Begins one collective operation on the `numbers` in place; returns MPI's error code.
using Reduction = std::function<int(void* numbers, MPI_Request*)>;

Request start_reduction(const char* what, std::span<const Index> numbers,
                        const Reduction& reduction) {
    const std::span<const std::byte> bytes = std::as_bytes(numbers);
    return Request::post(Request::Role::Other, {what}, {bytes.begin(), bytes.end()}, nullptr,
                         [&](std::span<std::byte> buffer, MPI_Request* request) {
                             return reduction(buffer.data(), request);
                         });
}

Request start_allreduce(MPI_Comm comm, std::span<const Index> numbers, MPI_Op op,
                        const char* what) {
    const int count = to_int(static_cast<Index>(numbers.size()), "the number of numbers");
    return start_reduction(what, numbers, [&](void* in_place, MPI_Request* request) {
        return MPI_Iallreduce(MPI_IN_PLACE, in_place, count, MPI_INT64_T, op, comm, request);
    });
}

std::vector<Index> indices(const Buffer& bytes) {
    std::vector<Index> found(bytes.size() / sizeof(Index));
    std::memcpy(found.data(), bytes.data(), found.size() * sizeof(Index));
    return found;
}

/// What an allgatherv reads until it is complete.
struct Gathered {
    Buffer mine;
    std::vector<int> counts;
    std::vector<int> displacements;
};

}  // namespace

Buffer Comm::bcast(std::span<const std::byte> bytes, int root) const {
    const MPI_Comm comm = for_collective();
    if (root < 0 || root >= size()) {
        throw InvalidArgument(
            Problem{"root is not a rank", text(root), text("0 to ", size() - 1), ""});
    }
    if (serial()) {
        return Buffer(bytes.begin(), bytes.end());
    }
    Index length = static_cast<Index>(bytes.size());
    length = indices(finish(start_reduction(
        "broadcast a length", std::span(&length, 1), [&](void* in_place, MPI_Request* request) {
            return MPI_Ibcast(in_place, 1, MPI_INT64_T, root, comm, request);
        })))[0];
    Buffer buffer = allocate(*this, length);
    if (rank() == root) {
        std::copy(bytes.begin(), bytes.end(), buffer.begin());
    }
    if (length == 0) {
        return buffer;
    }
    return finish(Request::post(Request::Role::Other, {"broadcast"}, std::move(buffer), nullptr,
                                [&](std::span<std::byte> whole, MPI_Request* request) {
                                    const Payload payload(length);
                                    return MPI_Ibcast(whole.data(), payload.count,
                                                      payload.type.handle(), root, comm, request);
                                }));
}

std::vector<Buffer> Comm::allgather(std::span<const std::byte> bytes) const {
    const MPI_Comm comm = for_collective();
    if (serial()) {
        return {Buffer(bytes.begin(), bytes.end())};
    }
    const auto ranks = static_cast<std::size_t>(size());
    std::vector<Index> lengths(ranks);
    lengths[static_cast<std::size_t>(rank())] = static_cast<Index>(bytes.size());
    lengths = indices(finish(
        start_reduction("gather lengths", lengths, [&](void* in_place, MPI_Request* request) {
            return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place, 1, MPI_INT64_T,
                                  comm, request);
        })));
    const Index total = std::accumulate(lengths.begin(), lengths.end(), Index{0});

    std::vector<Buffer> all(ranks);
    if (total > std::numeric_limits<int>::max()) {
        for (std::size_t r = 0; r < ranks; ++r) {
            all[r] =
                bcast(r == static_cast<std::size_t>(rank()) ? bytes : std::span<const std::byte>(),
                      static_cast<int>(r));
        }
        return all;
    }
    const auto gathered = std::make_shared<Gathered>();
    gathered->mine.assign(bytes.begin(), bytes.end());
    gathered->counts.resize(ranks);
    gathered->displacements.resize(ranks);
    int end = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        gathered->counts[r] = to_int(lengths[r], "the length of a message");
        gathered->displacements[r] = end;
        end += gathered->counts[r];
    }
    const Buffer flat = finish(Request::post(
        Request::Role::Other, {"gather messages"}, allocate(*this, total), gathered,
        [&](std::span<std::byte> received, MPI_Request* request) {
            return MPI_Iallgatherv(gathered->mine.data(),
                                   gathered->counts[static_cast<std::size_t>(rank())], MPI_BYTE,
                                   received.data(), gathered->counts.data(),
                                   gathered->displacements.data(), MPI_BYTE, comm, request);
        }));
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto first = flat.begin() + gathered->displacements[r];
        all[r].assign(first, first + gathered->counts[r]);
    }
    return all;
}

Index Comm::exscan_sum(Index n) const {
    const MPI_Comm comm = for_collective();
    if (serial()) {
        return 0;
    }
    const auto before = indices(finish(start_reduction(
        "sum over the lower ranks", std::span(&n, 1), [&](void* in_place, MPI_Request* request) {
            return MPI_Iexscan(MPI_IN_PLACE, in_place, 1, MPI_INT64_T, MPI_SUM, comm, request);
        })));
    return rank() == 0 ? 0 : before[0];  // MPI leaves it undefined on rank 0
}

std::vector<Index> Comm::allreduce(std::vector<Index> numbers, MPI_Op op, const char* what) const {
    const MPI_Comm comm = for_collective();
    return serial() ? numbers : indices(finish(start_allreduce(comm, numbers, op, what)));
}

Index Comm::sum(Index n) const {
    return allreduce({n}, MPI_SUM, "sum over the ranks")[0];
}

Index Comm::min(Index n) const {
    return allreduce({n}, MPI_MIN, "take a minimum over the ranks")[0];
}

Index Comm::max(Index n) const {
    return allreduce({n}, MPI_MAX, "take a maximum over the ranks")[0];
}

std::vector<Index> Comm::min_of_each(std::vector<Index> numbers) const {
    return allreduce(std::move(numbers), MPI_MIN, "take minima over the ranks");
}

Request Comm::imin_of_each(const std::vector<Index>& numbers) const {
    constexpr const char* what = "take minima over the ranks";
    const MPI_Comm comm = for_collective();
    return serial()
               ? start_reduction(what, numbers, [](void*, MPI_Request*) { return MPI_SUCCESS; })
               : start_allreduce(comm, numbers, MPI_MIN, what);
}

Index Comm::sum_for_each(const std::vector<Index>& numbers) const {
    const MPI_Comm comm = for_collective();
    if (static_cast<Index>(numbers.size()) != size()) {
        throw InvalidArgument(Problem{"a number for each rank is wanted", text(numbers.size()),
                                      text(size(), " numbers"), ""});
    }
    if (serial()) {
        return numbers[0];
    }
    return indices(finish(start_reduction(
        "sum numbers for each rank", numbers, [&](void* in_place, MPI_Request* request) {
            return MPI_Ireduce_scatter_block(MPI_IN_PLACE, in_place, 1, MPI_INT64_T, MPI_SUM, comm,
                                             request);
        })))[0];
}

bool Comm::all(bool here) const {
    return min(here ? 1 : 0) == 1;
}

}  // namespace fluvial::mpi
