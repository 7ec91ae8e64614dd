// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

std::vector<std::byte> pattern(std::size_t length, int seed) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::byte>((i * 31 + static_cast<std::size_t>(seed)) % 251);
    }
    return bytes;
}

// AddressSanitizer ends the process where operator new would throw.
#ifdef __SANITIZE_ADDRESS__
constexpr bool allocation_aborts = true;
#else
constexpr bool allocation_aborts = false;
#endif

}  // namespace

TEST_CASE("a broadcast brings the root's bytes, whatever the others hold") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto check_bcast = [&](std::size_t length, int root) {
        const auto mine = comm.rank() == root ? pattern(length, root) : pattern(5, 100);
        CHECK(comm.bcast(mine, root) == pattern(length, root));
    };
    for (int root = 0; root < comm.size(); ++root) {
        for (const int length : {0, 1, 100'003}) {
            check_bcast(static_cast<std::size_t>(length), root);
        }
    }
    check_bcast(std::size_t{65} << 20, comm.size() - 1);  // ranks agree on the memory first
    CHECK_THROWS_AS(comm.bcast({}, comm.size()), InvalidArgument);
    CHECK_THROWS_AS(comm.bcast({}, -1), InvalidArgument);
    comm.close();
}

TEST_CASE("an allgather keeps lengths and order of ranks") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const auto of_rank = [](int rank) {
        return pattern(rank % 3 == 1 ? 0 : 1000 * static_cast<std::size_t>(rank + 1), rank);
    };
    const auto all = comm.allgather(of_rank(comm.rank()));
    REQUIRE(all.size() == static_cast<std::size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
        CHECK(all[static_cast<std::size_t>(rank)] == of_rank(rank));
    }

    for (const auto& empty : comm.allgather({})) {
        CHECK(empty.empty());
    }
    comm.close();
}

TEST_CASE("sums, extremes and logic over the ranks") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const Index p = comm.size();
    const Index r = comm.rank();
    constexpr Index big = Index{1} << 40;
    CHECK(comm.exscan_sum(big + r) == r * big + r * (r - 1) / 2);
    CHECK(comm.sum(big + r) == p * big + p * (p - 1) / 2);
    CHECK(comm.min(r - big) == -big);
    CHECK(comm.min_of_each({r, -r, big}) == std::vector<Index>{0, 1 - comm.size(), big});
    Request least = comm.imin_of_each({r, -r, big});
    least.wait();
    const std::vector<std::byte> minima = least.take();
    ByteReader in(minima);
    CHECK(in.get<Index>() == 0);
    CHECK(in.get<Index>() == 1 - comm.size());
    CHECK(in.get<Index>() == big);
    CHECK(comm.max(r + big) == big + p - 1);
    CHECK(comm.all(true));
    CHECK_FALSE(comm.all(r != p - 1));
    CHECK(comm.any(r == p - 1));
    CHECK_FALSE(comm.any(false));
    comm.close();
}

TEST_CASE("a payload for which no rank has memory is an error on all of them" *
          doctest::skip(allocation_aborts)) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    // A span of 2^62 bytes is never touched: the lengths are agreed on before a byte moves.
    const std::byte one{};
    const std::span<const std::byte> endless(&one, std::size_t{1} << 62);
    CHECK_THROWS_WITH_AS(
        comm.bcast(endless, 0),
        doctest::Contains("a rank has no memory for a message: got 4611686018427387904 bytes"),
        SystemError);
    CHECK(comm.sum(1) == comm.size());
    comm.close();
}

TEST_CASE("a sum for each rank") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const Index rank = comm.rank(), last = comm.size() - 1;
    std::vector<Index> numbers;
    for (Index other = 0; other <= last; ++other) {
        numbers.push_back(100 * rank + other);
    }
    CHECK(comm.sum_for_each(numbers) == 100 * last * (last + 1) / 2 + (last + 1) * rank);
    CHECK_THROWS_AS(comm.sum_for_each({}), InvalidArgument);
    comm.close();
    CHECK(Comm().sum_for_each({5}) == 5);
}
