// SPDX-License-Identifier: Apache-2.0
// Payloads past 2 GiB for real, on two ranks. What is sent is zero pages but for a few marks, which
// the receiver finds again; a sum over everything shows that nothing else was written. Needs about
// 5 GiB.
#include <cstring>

#include <doctest/doctest.h>

#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/large_payload_fixture.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

constexpr std::size_t length = (std::size_t{1} << 31) + 12'345;
constexpr std::size_t marks[] = {
    0, 1, (std::size_t{1} << 30) + 3, (std::size_t{1} << 31) - 1, std::size_t{1} << 31, length - 1};

void set_marks(std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < std::size(marks); ++i) {
        bytes[marks[i]] = static_cast<std::byte>(i + 1);
    }
}

void check_received(const std::vector<std::byte>& bytes) {
    REQUIRE(bytes.size() == length);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 8 <= length; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i, 8);
        sum |= word;
    }
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < std::size(marks); ++i) {
        CHECK(bytes[marks[i]] == static_cast<std::byte>(i + 1));
        if (marks[i] / 8 * 8 + 8 <= length) {
            expected |= std::uint64_t{i + 1} << (8 * (marks[i] % 8));
        }
    }
    CHECK(sum == expected);
}

}  // namespace

TEST_CASE("a message and an allgather of more than 2 GiB") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    REQUIRE(comm.size() == 2);
    if (enough_memory(comm, 7)) {
        const SparseZeros sparse(length);
        set_marks(sparse.bytes());
        if (comm.rank() == 0) {
            comm.send(sparse.bytes(), 1, 0);
        }
        if (comm.rank() == 1) {
            check_received(comm.recv(0, 0));
        }

        const std::byte few[5] = {std::byte{9}};
        const auto all =
            comm.allgather(comm.rank() == 0 ? std::span<const std::byte>(few) : sparse.bytes());
        REQUIRE(all.size() == 2);
        CHECK(all[0] == std::vector<std::byte>(std::begin(few), std::end(few)));
        check_received(all[1]);
    }
    comm.close();
}
