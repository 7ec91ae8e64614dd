// SPDX-License-Identifier: Apache-2.0
// Pools that are moved.
#include <utility>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

Pool open(const PoolOptions& options = {}) {
    return Pool(mpi::Comm::duplicate(world().handle()), common_functions(), options);
}

PoolOptions with_lead(bool works) {
    PoolOptions options;
    options.lead_works = works;
    return options;
}

}  // namespace

TEST_CASE("a pool that another one is moved into is broken off, and lets the other ranks go") {
    for (const bool lead_works : {false, true}) {
        Pool pool = open(with_lead(lead_works));
        if (pool.leads()) {
            CHECK(got(pool.submit("add up", {bytes_of<std::int64_t>(4)})) == 4);
            pool.submit("sleep", {bytes_of<std::int64_t>(20)});
            pool = Pool(mpi::Comm(), common_functions());
            CHECK(pool.size() == 1);
            CHECK(got(pool.submit("add up", {bytes_of<std::int64_t>(5)})) == 5);
        }
        pool.close();
        CHECK(world().sum(1) == world_size());
    }
}

TEST_CASE("all ranks go on in the pool that was moved into theirs") {
    for (const bool lead_works : {false, true}) {
        Pool pool = open(with_lead(lead_works));
        pool = open(with_lead(lead_works));
        Pool& same = pool;
        pool = std::move(same);
        if (pool.leads()) {
            CHECK(got(pool.submit("add up", {bytes_of<std::int64_t>(5)})) == 5);
        }
        pool.close();
        CHECK(world().sum(1) == world_size());
    }
}
