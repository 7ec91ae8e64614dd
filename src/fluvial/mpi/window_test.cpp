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
    window.fence();
    if (!mine.empty()) {
        std::memset(mine.data(), 10 + host.rank(), mine.size());
    }
    window.fence();
    for (int rank = 0; rank < host.size(); ++rank) {
        const auto theirs = window.memory(rank);
        REQUIRE(theirs.size() == 16 * static_cast<std::size_t>(rank));
        for (const std::byte b : theirs) {
            CHECK(b == static_cast<std::byte>(10 + rank));
        }
    }
    window.fence();
    CHECK_THROWS_AS(window.memory(host.size()), InvalidArgument);
    window.close();
    window.close();
    CHECK_THROWS_WITH_AS(window.fence(), doctest::Contains("the window is not open"),
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

TEST_CASE("memory opened to others is read and written without its owner's help") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const int rank = comm.rank();
    const int next = (rank + 1) % comm.size();
    auto numbers = std::make_shared<std::vector<int>>(100 + rank, rank);
    Window window = Window::create(comm, std::as_writable_bytes(std::span(*numbers)), numbers);
    {
        const Window::Lock lock = window.lock(next, Window::Access::Exclusive);
        const int seven = 700 + rank;
        lock.put(std::as_bytes(std::span(&seven, 1)), next, 4 * 7);
        int back[2] = {};
        lock.get(std::as_writable_bytes(std::span(back)), next, 4 * 7);
        CHECK(back[0] == seven);
        CHECK(back[1] == next);
    }
    comm.barrier();
    {
        const Window::Lock lock = window.lock_all();
        for (int other = 0; other < comm.size(); ++other) {
            std::vector<int> copy(static_cast<std::size_t>(100 + other));
            lock.get(std::as_writable_bytes(std::span(copy)), other, 0);
            CHECK(copy[0] == other);
            CHECK(copy[7] == 700 + (other + comm.size() - 1) % comm.size());
            CHECK(copy.back() == other);
        }
    }
    const std::weak_ptr<std::vector<int>> watched = numbers;
    numbers.reset();
    CHECK_FALSE(watched.expired());
    window.close();
    CHECK(watched.expired());
    comm.close();
}

TEST_CASE("ranges that leave the window and targets that are not locked are refused") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    auto memory = std::make_shared<std::vector<std::byte>>(10);
    Window window = Window::create(comm, *memory, memory);
    std::byte some[8] = {};
    {
        const Window::Lock lock = window.lock(0, Window::Access::Shared);
        CHECK_THROWS_WITH_AS(lock.get(some, 0, 3),
                             "a range leaves the window of rank 0: got 8 bytes from byte 3; "
                             "allowed: inside its 10 bytes",
                             InvalidArgument);
        CHECK_THROWS_AS(lock.put(some, 0, -1), InvalidArgument);
        CHECK_THROWS_AS(lock.get(some, 1, 0), InvalidArgument);
        lock.get(some, 0, 2);
    }
    CHECK_THROWS_AS(window.lock(comm.size(), Window::Access::Shared), InvalidArgument);
    CHECK_THROWS_AS(
        window.memory(comm.size() - 1 - comm.rank() == comm.rank() ? -1
                                                                   : comm.size() - 1 - comm.rank()),
        InvalidArgument);
    window.close();
    comm.close();
}
