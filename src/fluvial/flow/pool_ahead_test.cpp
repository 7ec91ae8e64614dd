// SPDX-License-Identifier: Apache-2.0
// Brief tasks are sent ahead, several at a time; some turn out to last.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

constexpr std::int64_t brief = 0, lasts = 1;
constexpr double wait_s = 30;

Bytes one_or_the_other(const Call& call) {
    return value_of<std::int64_t>(call.inputs.front()) == lasts ? until_cancelled(call) : Bytes();
}

Future submit(Pool& pool, std::int64_t which) {
    return pool.submit("one or the other", {bytes_of(which)});
}

std::vector<Future> submit(Pool& pool, std::int64_t which, int count) {
    std::vector<Future> futures;
    for (int i = 0; i < count; ++i) {
        futures.push_back(submit(pool, which));
    }
    return futures;
}

template <class Condition>
bool comes_true(Pool& pool, const Condition& condition) {
    const Deadline deadline(wait_s);
    while (!condition() && !deadline.passed()) {
        pool.wait_for_some(0.001);
    }
    return condition();
}

bool all_done(const std::vector<Future>& futures) {
    return std::ranges::all_of(futures, &Future::done);
}

Pool open(bool lead_works) {
    Functions all;
    all.add("one or the other", one_or_the_other);
    PoolOptions options;
    options.lead_works = lead_works;
    Pool pool(mpi::Comm::duplicate(world().handle()), std::move(all), options);
    if (pool.leads()) {  // so that several are sent at once
        for (const Future& future : submit(pool, brief, 500)) {
            future.get();
        }
    }
    return pool;
}

}  // namespace

TEST_CASE("brief tasks wait for none that lasts, before it or behind it on its rank") {
    for (const bool lead_works : {false, true}) {
        CAPTURE(lead_works);
        Pool pool = open(lead_works);
        for (int round = 0; pool.leads() && pool.size() > 1 && round < 5; ++round) {
            const std::vector<Future> before = submit(pool, brief, 10);
            const Future long_one = submit(pool, lasts);
            std::vector<Future> behind = submit(pool, brief, 20);
            CHECK(comes_true(pool, [&] { return all_done(before); }));
            if (pool.workers() > 1) {
                CHECK(comes_true(pool, [&] { return all_done(behind); }));
            } else {
                for (const Future& future : behind) {
                    CHECK(comes_true(pool, [&] { return future.cancel(); }));
                    CHECK_THROWS_AS(future.get(), TaskCancelled);
                }
                behind = submit(pool, brief, 3);
            }
            CHECK_FALSE(long_one.done());
            CHECK(long_one.cancel(true));
            CHECK(comes_true(pool, [&] { return all_done(behind); }));
        }
        pool.close();
    }
}

TEST_CASE("a pool of one rank takes back what it has sent itself") {
    Pool pool = open(false);
    if (pool.size() == 1) {
        const std::vector<Future> some = submit(pool, brief, 20);
        some.front().get();
        CHECK(some.back().cancel());
        CHECK_THROWS_AS(some.back().get(), TaskCancelled);
        CHECK(comes_true(pool, [&] { return all_done(some); }));
    }
    pool.close();
}
