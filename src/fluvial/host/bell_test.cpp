// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/bell.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/mpi/comm.hpp"

using namespace fluvial;
using namespace fluvial::host;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

}  // namespace

TEST_CASE("ranks of a host wake each other in turn") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    mpi::Comm host = comm.split_by_host();
    Bells bells(host);
    CHECK(bells.of(-1) == nullptr);
    const int rank = host.rank();
    const std::int64_t begin = now_ns();
    bells.of(rank)->arm();
    host.barrier();
    if (rank > 0) {
        bells.of(rank)->sleep(60 * second_ns);
    }
    ring(bells.of((rank + 1) % host.size()));
    if (rank == 0 && host.size() > 1) {
        bells.of(0)->sleep(60 * second_ns);
    }
    CHECK(now_ns() - begin < 30 * second_ns);
    bells.close();
    host.close();
    comm.close();
}

TEST_CASE("where there are no bells a ring does nothing") {
    const Bells none;
    CHECK(none.of(0) == nullptr);
    ring(none.of(0));
}
