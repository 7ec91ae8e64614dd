// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/window.hpp"

#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

TEST_CASE("shared memory of each rank is stored to by its owner and loaded by all") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Comm host = comm.split_by_host();
    Window window = Window::allocate_shared(host, 16 * host.rank());
    const std::span<std::byte> mine = window.memory(host.rank());
    REQUIRE(mine.size() == 16 * static_cast<std::size_t>(host.rank()));
    if (!mine.empty()) {
        std::memset(mine.data(), 10 + host.rank(), mine.size());
    }
    host.barrier();
    for (int rank = 0; rank < host.size(); ++rank) {
        const auto theirs = window.memory(rank);
        REQUIRE(theirs.size() == 16 * static_cast<std::size_t>(rank));
        for (const std::byte b : theirs) {
            CHECK(b == static_cast<std::byte>(10 + rank));
        }
    }
    host.barrier();
    CHECK_THROWS_AS(window.memory(-1), InvalidArgument);
    CHECK_THROWS_AS(window.memory(host.size()), InvalidArgument);
    window.close();
    window.close();
    CHECK_THROWS_WITH_AS(window.memory(0), doctest::Contains("the window is not open"),
                         InvalidArgument);
    host.close();
    comm.close();
}

TEST_CASE("a negative length on one rank is refused on all") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const Index bytes = comm.rank() == comm.size() - 1 ? -5 : 5;
    CHECK_THROWS_WITH_AS(Window::allocate_shared(comm, bytes),
                         doctest::Contains("negative length: got -5"), InvalidArgument);
    CHECK(comm.sum(1) == comm.size());
    comm.close();
}
