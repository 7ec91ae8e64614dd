// SPDX-License-Identifier: Apache-2.0
// Pools that are moved, and futures of no task.
#include <functional>
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

void refused(const std::function<void()>& call, const char* words) {
    CHECK_THROWS_WITH_AS(call(), doctest::Contains(words), InvalidArgument);
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

TEST_CASE("a pool that has been moved from is refused") {
    Pool pool = open();
    Pool same = std::move(pool);
    const std::function<void()> calls[] = {[&] { pool.leads(); },
                                           [&] { pool.rank(); },
                                           [&] { pool.size(); },
                                           [&] { pool.workers(); },
                                           [&] { pool.worker_ranks(); },
                                           [&] { pool.check_process(); },
                                           [&] { pool.submit("add up", {}); },
                                           [&] { pool.submit_together({}); },
                                           [&] { pool.known({}); },
                                           [&] { pool.failed({}); },
                                           [&] { pool.follow({}, {}); },
                                           [&] { pool.wait_for_some(0); },
                                           [&] { pool.wake(); },
                                           [&] { pool.cancel({}); },
                                           [&] { pool.result({}, 0); },
                                           [&] { pool.timeline(); },
                                           [&] { pool.close(); },
                                           [&] { pool.cancel_and_close(); }};
    for (const auto& call : calls) {
        refused(call, "this object has been moved from");
    }
    CHECK(same.size() == world_size());
    same.close();
}

TEST_CASE("a future of no task is refused, also as an input") {
    const Future none;
    for (const std::function<void()>& call :
         {std::function<void()>([&] { none.done(); }), std::function<void()>([&] { none.get(); }),
          std::function<void()>([&] { none.cancel(); }),
          std::function<void()>([&] { none.parts(); })}) {
        refused(call, "this future is of no task");
    }
    Pool pool = open();
    CHECK_FALSE(pool.cancel(nullptr));
    CHECK_FALSE(pool.known({}).cancel());  // also where no task is submitted
    if (pool.leads()) {
        const Bytes bytes = bytes_of<std::int64_t>(1);
        Future moved = pool.submit("add up", {bytes});
        const Future same = std::move(moved);
        refused([&] { moved.get(); }, "this future is of no task");
        CHECK(got(same) == 1);
        const char* const empty = "input 1 of a task of 'add up' is empty";
        refused([&] { pool.submit("add up", {bytes, none}); }, empty);
        refused([&] { pool.submit("add up", {bytes, Argument::own_part(none)}); }, empty);
        refused([&] { pool.submit("add up", {bytes, std::shared_ptr<const Bytes>()}); }, empty);
        refused([&] { pool.submit_together({{"add up", {bytes}}, {"add up", {bytes, none}}}); },
                pool.workers() > 1 ? empty : "cannot start together");
        CHECK(got(pool.submit("add up", {bytes, same})) == 2);
    }
    pool.close();
}
