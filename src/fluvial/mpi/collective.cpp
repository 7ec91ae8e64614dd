// SPDX-License-Identifier: Apache-2.0
// Collective operations of Comm.
#include <algorithm>
#include <limits>
#include <new>
#include <numeric>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/check.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/datatype.hpp"

namespace fluvial::mpi {

namespace {

constexpr Index int_max = std::numeric_limits<int>::max();
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

Index allreduce(const Comm& comm, Index n, MPI_Op op, const char* what) {
    const MPI_Comm handle = comm.handle();
    if (comm.serial()) {
        return n;
    }
    Index result = 0;
    check(MPI_Allreduce(&n, &result, 1, MPI_INT64_T, op, handle), what);
    return result;
}

}  // namespace

Buffer Comm::bcast(std::span<const std::byte> bytes, int root) const {
    const MPI_Comm comm = handle();
    if (root < 0 || root >= size()) {
        throw InvalidArgument(
            Problem{"root is not a rank", text(root), text("0 to ", size() - 1), ""});
    }
    if (serial()) {
        return Buffer(bytes.begin(), bytes.end());
    }
    Index length = static_cast<Index>(bytes.size());
    check(MPI_Bcast(&length, 1, MPI_INT64_T, root, comm), "broadcast a length");
    Buffer buffer = allocate(*this, length);
    if (rank() == root) {
        std::copy(bytes.begin(), bytes.end(), buffer.begin());
    }
    if (length == 0) {
        return buffer;
    }
    const Payload payload(length);
    check(MPI_Bcast(buffer.data(), payload.count, payload.type.handle(), root, comm), "broadcast");
    return buffer;
}

std::vector<Buffer> Comm::allgather(std::span<const std::byte> bytes) const {
    const MPI_Comm comm = handle();
    if (serial()) {
        return {Buffer(bytes.begin(), bytes.end())};
    }
    const auto ranks = static_cast<std::size_t>(size());
    const Index length = static_cast<Index>(bytes.size());
    std::vector<Index> lengths(ranks);
    check(MPI_Allgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, comm),
          "gather lengths");
    const Index total = std::accumulate(lengths.begin(), lengths.end(), Index{0});

    std::vector<Buffer> all(ranks);
    if (total > int_max) {
        for (std::size_t r = 0; r < ranks; ++r) {
            all[r] =
                bcast(r == static_cast<std::size_t>(rank()) ? bytes : std::span<const std::byte>(),
                      static_cast<int>(r));
        }
        return all;
    }
    std::vector<int> counts(ranks);
    std::vector<int> displacements(ranks, 0);
    for (std::size_t r = 0; r < ranks; ++r) {
        counts[r] = to_int(lengths[r], "the length of a message");
        if (r > 0) {
            displacements[r] = displacements[r - 1] + counts[r - 1];
        }
    }
    const Buffer flat = [&] {
        Buffer received = allocate(*this, total);
        check(MPI_Allgatherv(bytes.data(), counts[static_cast<std::size_t>(rank())], MPI_BYTE,
                             received.data(), counts.data(), displacements.data(), MPI_BYTE, comm),
              "gather messages");
        return received;
    }();
    for (std::size_t r = 0; r < ranks; ++r) {
        const auto first = flat.begin() + displacements[r];
        all[r].assign(first, first + counts[r]);
    }
    return all;
}

Index Comm::exscan_sum(Index n) const {
    const MPI_Comm comm = handle();
    if (serial()) {
        return 0;
    }
    Index before = 0;
    check(MPI_Exscan(&n, &before, 1, MPI_INT64_T, MPI_SUM, comm), "sum over the lower ranks");
    return rank() == 0 ? 0 : before;  // MPI leaves it undefined on rank 0
}

Index Comm::sum(Index n) const {
    return allreduce(*this, n, MPI_SUM, "sum over the ranks");
}

Index Comm::min(Index n) const {
    return allreduce(*this, n, MPI_MIN, "take a minimum over the ranks");
}

Index Comm::max(Index n) const {
    return allreduce(*this, n, MPI_MAX, "take a maximum over the ranks");
}

std::vector<Index> Comm::min_of_each(std::vector<Index> numbers) const {
    const MPI_Comm comm = handle();
    if (serial()) {
        return numbers;
    }
    check(MPI_Allreduce(MPI_IN_PLACE, numbers.data(),
                        to_int(static_cast<Index>(numbers.size()), "the number of minima"),
                        MPI_INT64_T, MPI_MIN, comm),
          "take minima over the ranks");
    return numbers;
}

Request Comm::imin_of_each(const std::vector<Index>& numbers) const {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(numbers));
    const int count = to_int(static_cast<Index>(numbers.size()), "the number of minima");
    return Request::post(Request::Role::Other, {"take minima over the ranks"},
                         {bytes.begin(), bytes.end()}, nullptr,
                         [comm = handle(), alone = serial(), count](std::span<std::byte> buffer,
                                                                    MPI_Request* request) -> int {
                             if (alone) {
                                 return MPI_SUCCESS;
                             }
                             return MPI_Iallreduce(MPI_IN_PLACE, buffer.data(), count, MPI_INT64_T,
                                                   MPI_MIN, comm, request);
                         });
}

Index Comm::sum_for_each(const std::vector<Index>& numbers) const {
    const MPI_Comm comm = handle();
    if (static_cast<Index>(numbers.size()) != size()) {
        throw InvalidArgument(Problem{"a number for each rank is wanted", text(numbers.size()),
                                      text(size(), " numbers"), ""});
    }
    if (serial()) {
        return numbers[0];
    }
    Index sum = 0;
    check(MPI_Reduce_scatter_block(numbers.data(), &sum, 1, MPI_INT64_T, MPI_SUM, comm),
          "sum numbers for each rank");
    return sum;
}

bool Comm::all(bool here) const {
    return min(here ? 1 : 0) == 1;
}

}  // namespace fluvial::mpi
