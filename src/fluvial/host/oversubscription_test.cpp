// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/oversubscription.hpp"

#include <initializer_list>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::host;

namespace {

cpu_set_t cores(std::initializer_list<int> numbers) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int number : numbers) {
        CPU_SET(number, &set);
    }
    return set;
}

std::vector<double> ranks_per_core(std::initializer_list<cpu_set_t> all) {
    return host::ranks_per_core(std::span(all.begin(), all.size()));
}

}  // namespace

TEST_CASE("ranks bound to a core share it with those bound to the same") {
    CHECK(ranks_per_core({cores({0}), cores({1}), cores({1}), cores({1})}) ==
          std::vector<double>{1, 3, 3, 3});
    CHECK(ranks_per_core({cores({0}), cores({1})}) == std::vector<double>{1, 1});
}

TEST_CASE("ranks bound to nothing share all cores") {
    CHECK(ranks_per_core({cores({0, 1}), cores({0, 1}), cores({0, 1})}) ==
          std::vector<double>{1.5, 1.5, 1.5});
    CHECK(ranks_per_core({cores({2, 3, 5, 700})}) == std::vector<double>{0.25});
}

TEST_CASE("a bound rank shares its core with those that roam") {
    CHECK(ranks_per_core({cores({0}), cores({0, 1}), cores({0, 1})}) ==
          std::vector<double>{2, 1.5, 1.5});
}

TEST_CASE("ranks of a host know how many of them share a core") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    mpi::Comm host = comm.split_by_host();
    cpu_set_t before;
    REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
    int some = 0;
    while (!CPU_ISSET(some, &before)) {
        ++some;
    }
    const cpu_set_t one = cores({some});
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(ranks_per_core(host) == std::vector<double>(static_cast<std::size_t>(host.size()),
                                                      static_cast<double>(host.size())));
    REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
    host.close();
    comm.close();
}
