// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/sparse_exchange.hpp"

#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

/// What `source` sends to `target` in a round; the same on both sides. Empty ones are sent, too.
std::optional<std::vector<std::byte>> message(int round, int source, int target) {
    std::mt19937 random(static_cast<unsigned>(round * 10000 + source * 100 + target));
    if (random() % 3 != 0) {
        return std::nullopt;
    }
    const std::size_t lengths[] = {0, 1, 40, 100'000};
    return std::vector<std::byte>(lengths[random() % 4], static_cast<std::byte>(random()));
}

}  // namespace

TEST_CASE("every rank gets what was sent to it, and nothing else") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    for (int round = 0; round < 50; ++round) {
        CAPTURE(round);
        std::vector<Addressed> messages;
        for (int target = comm.size() - 1; target >= 0; --target) {
            if (auto bytes = message(round, comm.rank(), target)) {
                messages.push_back({target, std::move(*bytes)});
            }
        }
        const auto received = sparse_exchange(comm, std::move(messages), 5);
        auto next = received.begin();
        for (int source = 0; source < comm.size(); ++source) {
            if (const auto expected = message(round, source, comm.rank())) {
                REQUIRE(next != received.end());
                CHECK(next->rank == source);
                CHECK(next->bytes == *expected);
                ++next;
            }
        }
        CHECK(next == received.end());
        CHECK(comm.sum(1) == comm.size());  // keeps the rounds apart
    }
    comm.close();
}

TEST_CASE("wrong ranks are refused before anything is sent") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    CHECK_THROWS_AS(sparse_exchange(comm, {{comm.size(), {}}}, 5), InvalidArgument);
    CHECK_THROWS_AS(sparse_exchange(Comm(), {{1, {}}}, 5), InvalidArgument);
    CHECK(sparse_exchange(Comm(), {{0, std::vector<std::byte>(3)}}, 5)[0].bytes.size() == 3);
    comm.close();
}
