// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/pool.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <stdexcept>
#include <thread>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

/// Fails until it has been called on as many ranks of the pool; says on how many it was.
Bytes fail_elsewhere(const Call& call) {
    if (world_rank() != value_of<std::int64_t>(call.inputs.front())) {
        throw std::runtime_error("not here");
    }
    return bytes_of<std::int64_t>(world_rank());
}

/// Leaves it to other tasks to add up its input.
Bytes delegate(const Call& call) {
    throw Continuation{Bytes(call.inputs.front().begin(), call.inputs.front().end())};
}

Functions functions() {
    Functions all = common_functions();
    all.add("elsewhere", fail_elsewhere);
    all.add("delegate", delegate, Runs::Parallel);
    return all;
}

Pool open(const PoolOptions& options = {}) {
    return Pool(mpi::Comm::duplicate(world().handle()), functions(), options);
}

}  // namespace

TEST_CASE("tasks run when their inputs are there") {
    Pool pool = open();
    if (pool.leads()) {
        Future fibonacci[30];
        fibonacci[0] = fibonacci[1] = pool.submit("add up", {bytes_of<std::int64_t>(1)});
        for (int i = 2; i < 30; ++i) {
            fibonacci[i] = pool.submit("add up", {fibonacci[i - 2], fibonacci[i - 1]});
        }
        CHECK(got(fibonacci[29]) == 832040);
    }
    pool.close();
}

TEST_CASE("many brief tasks") {
    Pool pool = open();
    if (pool.leads()) {
        std::vector<Future> futures;
        for (std::int64_t i = 0; i < 20'000; ++i) {
            futures.push_back(pool.submit("add up", {bytes_of(i), bytes_of<std::int64_t>(1)}));
        }
        for (std::int64_t i = 0; i < 20'000; ++i) {
            REQUIRE(got(futures[static_cast<std::size_t>(i)]) == i + 1);
        }
    }
    pool.close();
}

#ifdef __GLIBC__
TEST_CASE("what a program keeps of a finished task is small, and what it does not keep is gone") {
    Pool pool = open();
    if (pool.leads()) {
        constexpr int window = 1'000;
        constexpr int windows = 30;
        std::vector<Future> kept;
        kept.reserve(window * windows);
        const auto allocated_by_a_task = [&](bool keeps) {
            const std::size_t before = mallinfo2().uordblks;
            for (int i = 0; i < windows; ++i) {
                std::vector<Future> futures;
                for (std::int64_t task = 0; task < window; ++task) {
                    futures.push_back(pool.submit("add up", {bytes_of(task)}));
                }
                for (const Future& future : futures) {
                    future.get();
                }
                if (keeps) {
                    std::ranges::move(futures, std::back_inserter(kept));
                }
            }
            const auto grown =
                static_cast<double>(mallinfo2().uordblks) - static_cast<double>(before);
            return grown / (window * windows);
        };
        allocated_by_a_task(false);  // what the pool itself needs
        // Less than the smallest thing that a task could leave; MPI's own pools may grow meanwhile.
        CHECK(allocated_by_a_task(false) < 16);
        const double of_one = allocated_by_a_task(true) + sizeof(Future);
        CHECK(of_one < 256);  // with what MPI itself may keep for messages meanwhile
    }
    pool.close();
}
#endif

TEST_CASE("a task of several ranks has a communicator of its own") {
    Pool pool = open();
    if (pool.leads()) {
        std::vector<std::pair<Future, std::int64_t>> futures;
        for (std::int64_t turn = 0; turn < 200; ++turn) {
            const int width = 1 + static_cast<int>(turn) % pool.workers();
            const std::int64_t expected = (turn * width + width * (width - 1) / 2) * width;
            futures.emplace_back(pool.submit("over team", {bytes_of(turn)}, on(width)), expected);
        }
        for (const auto& [future, expected] : futures) {
            CHECK(got(future) == expected);
        }
    }
    pool.close();
}

TEST_CASE("a rank that throws fails its task alone, and what needs its result") {
    Pool pool = open();
    if (pool.leads()) {
        for (int rank = 0; rank < pool.workers(); ++rank) {
            const Future failed =
                pool.submit("fail on", {bytes_of<std::int64_t>(rank)}, on(pool.workers()));
            const Future after = pool.submit("add up", {failed});
            CHECK_THROWS_AS(failed.get(), OutOfRange);
            CHECK_THROWS_AS(after.get(), OutOfRange);
            CHECK_THROWS_AS(pool.submit("add up", {failed}).get(), OutOfRange);
        }
        CHECK(got(pool.submit("over team", {bytes_of<std::int64_t>(1)})) == 1);
    }
    pool.close();
}

TEST_CASE("a task is tried again, elsewhere first") {
    Pool pool = open();
    if (pool.leads()) {
        TaskOptions options;
        options.retries = pool.workers() - 1;
        const std::int64_t where = pool.size() - 1;
        if (pool.workers() <= 2) {
            CHECK(got(pool.submit("elsewhere", {bytes_of(where)}, options)) == where);
        }
        options.retries = 0;
        options.near = Near{static_cast<int>(where), false, true};
        CHECK(got(pool.submit("elsewhere", {bytes_of(where)}, options)) == where);
        options.near.reset();
        CHECK_THROWS_WITH_AS(pool.submit("elsewhere", {bytes_of<std::int64_t>(-1)}, options).get(),
                             doctest::Contains("not here"), Error);
    }
    pool.close();
}

TEST_CASE("a task that outlives its limit fails, and its rank is used again") {
    Pool pool = open();
    if (pool.leads()) {  // also where the lead itself runs it, and learns it afterwards
        TaskOptions options;
        options.timeout_s = 0.1;
        const Future late = pool.submit("sleep", {bytes_of<std::int64_t>(600)}, options);
        CHECK_THROWS_AS(late.get(), TimedOut);
        CHECK(got(pool.submit("over team", {bytes_of<std::int64_t>(0)}, on(pool.workers()))) >= 0);
    }
    pool.close();
}

TEST_CASE("a task that was sent ahead has not begun while its rank runs another") {
    Pool pool = open();
    if (pool.leads()) {
        for (int i = 0; i < 5'000; ++i) {  // they are known to be brief
            pool.submit("sleep", {bytes_of<std::int64_t>(0)});
        }
        pool.submit("sleep", {bytes_of<std::int64_t>(0)}).get();
        TaskOptions limited;
        limited.timeout_s = 1;
        std::vector<Future> futures;
        for (int i = 0; i < 400; ++i) {
            const std::int64_t ms = i % 200 == 100 ? 1500 : 0;
            futures.push_back(
                pool.submit("sleep", {bytes_of(ms)}, ms > 0 ? TaskOptions() : limited));
        }
        for (const Future& future : futures) {
            CHECK_NOTHROW(future.get());
        }
        const Future late = pool.submit("sleep", {bytes_of<std::int64_t>(1500)}, limited);
        CHECK_THROWS_AS(late.get(), TimedOut);
    }
    pool.close();
}

TEST_CASE("a lead that works") {
    PoolOptions options;
    options.lead_works = true;
    Pool pool = open(options);
    CHECK(pool.workers() == pool.size());
    if (pool.leads()) {
        for (int width = 1; width <= pool.size(); ++width) {
            const std::int64_t ranks = width;
            const Future wide = pool.submit("over team", {bytes_of<std::int64_t>(1)}, on(width));
            CHECK(got(wide) == (ranks + ranks * (ranks - 1) / 2) * ranks);
        }
        std::vector<Future> futures;
        for (std::int64_t i = 0; i < 5'000; ++i) {
            futures.push_back(pool.submit("add up", {bytes_of(i), bytes_of<std::int64_t>(1)}));
        }
        for (std::int64_t i = 0; i < 5'000; ++i) {
            REQUIRE(got(futures[static_cast<std::size_t>(i)]) == i + 1);
        }
        const Bytes large(3'000'000, std::byte{7});
        const Future echoed = pool.submit("sleep", {bytes_of<std::int64_t>(0), large}, at(0));
        CHECK(echoed.get() == large);
        for (std::int64_t rank = 0; rank < pool.size(); ++rank) {
            const TaskOptions there = at(static_cast<int>(rank));
            CHECK(got(pool.submit("elsewhere", {bytes_of(rank)}, there)) == rank);
        }
        CHECK_THROWS_AS(pool.submit("fail on", {bytes_of<std::int64_t>(0)}, on(pool.size())).get(),
                        OutOfRange);
    }
    pool.close();
}

TEST_CASE("a lead that works, whose pool an exception ends") {
    {
        PoolOptions options;
        options.lead_works = true;
        Pool pool = open(options);
        if (!pool.leads()) {
            pool.close();
        } else {
            pool.submit("sleep", {bytes_of<std::int64_t>(20)}, at(0));
        }
    }
    CHECK(world().sum(1) == world_size());
}

/// Serves the pool until one of its tasks continues.
FuturePtr one_that_continues(Pool& pool) {
    while (true) {
        for (const FuturePtr& future : pool.wait_for_some(1)) {
            if (!future->done()) {
                return future;
            }
        }
    }
}

TEST_CASE("the result of a task that continues is another's") {
    PoolOptions options;
    options.collects_done = true;
    Pool pool = open(options);
    if (pool.leads()) {
        for (const int width : {1, pool.workers()}) {
            const Future outer = pool.submit("delegate", {bytes_of<std::int64_t>(7)}, on(width));
            const Future after = pool.submit("add up", {outer, bytes_of<std::int64_t>(1)});
            const FuturePtr told = one_that_continues(pool);
            CHECK(told == outer.state());
            CHECK(value_of<std::int64_t>(*told->ties->continuation) == 7);
            CHECK_FALSE(outer.cancel());
            const Future inner =
                pool.submit("add up", {bytes_of<std::int64_t>(20), bytes_of<std::int64_t>(3)});
            pool.follow(told, inner.state());
            CHECK(got(outer) == 23);
            CHECK(got(after) == 24);
        }
        const Future done = pool.submit("delegate", {bytes_of<std::int64_t>(7)});
        pool.follow(one_that_continues(pool), pool.known(bytes_of<std::int64_t>(5)).state());
        CHECK(got(done) == 5);
        const Future fails = pool.submit("delegate", {bytes_of<std::int64_t>(7)});
        const Future after = pool.submit("add up", {fails});
        pool.follow(one_that_continues(pool),
                    pool.failed({"OutOfRange", "no such number", -1, {}}).state());
        CHECK_THROWS_AS(after.get(), OutOfRange);
        CHECK_THROWS_WITH_AS(fails.get(), "no such number", OutOfRange);
    }
    pool.close();
}

TEST_CASE("no task can continue in a pool that collects no futures") {
    Pool pool = open();
    if (pool.leads()) {
        CHECK_THROWS_AS(pool.submit("delegate", {bytes_of<std::int64_t>(7)}).get(), Error);
    }
    pool.close();
}

TEST_CASE("what cannot run is refused before anything runs") {
    Pool pool = open();
    if (pool.leads()) {
        CHECK_THROWS_AS(pool.submit("ad up", {}), InvalidArgument);
        CHECK_THROWS_AS(pool.submit("over team", {}, on(pool.workers() + 1)), InvalidArgument);
        CHECK_THROWS_AS(pool.submit("over team", {}, on(0)), InvalidArgument);
        TaskOptions nowhere;
        nowhere.near = Near{pool.size()};
        CHECK_THROWS_AS(pool.submit("add up", {}, nowhere), InvalidArgument);
        if (pool.workers() > 1) {
            CHECK_THROWS_WITH_AS(
                pool.submit("add up", {}, on(2)),
                "'add up' is a serial function: got 2 ranks; allowed: 1 rank. "
                "Declare it as parallel: then it gets the communicator of its team",
                InvalidArgument);
        }
    } else {
        CHECK_THROWS_AS(pool.submit("add up", {}), InvalidArgument);
    }
    pool.close();
    CHECK_THROWS_AS(pool.submit("add up", {}), InvalidArgument);
}

TEST_CASE("a pool that an exception ends lets the other ranks go") {
    {
        Pool pool = open();
        if (!pool.leads()) {
            pool.close();
        } else {
            pool.submit("add up", {});
        }
    }
    CHECK(world().sum(1) == world_size());
}

TEST_CASE("the timeline has each task on the ranks that ran it") {
    PoolOptions options;
    options.trace = true;
    Pool pool(mpi::Comm::duplicate(world().handle()), functions(), options);
    if (pool.leads()) {
        CHECK(pool.timeline().tasks() == 0);
        const int wide = std::min(2, pool.workers());
        got(pool.submit("over team", {bytes_of<std::int64_t>(1)}, on(wide)));
        got(pool.submit("add up", {bytes_of<std::int64_t>(1)}));
        const Timeline timeline = pool.timeline();
        CHECK(timeline.kinds() == std::vector<std::string>{"over team", "add up"});
        CHECK(timeline.tasks() == 2);
        CHECK(timeline.busy_s() > 0);
        std::size_t events = 0;
        for (int rank = 0; rank < timeline.size(); ++rank) {
            events += timeline.of(rank).size();
        }
        CHECK(events == static_cast<std::size_t>(wide) + 1);
        CHECK((pool.size() == 1 || timeline.of(0).empty()));
    } else {
        CHECK_THROWS_AS(pool.timeline(), InvalidArgument);
    }
    pool.close();
    if (pool.leads()) {
        CHECK(pool.timeline().tasks() == 2);
    }
}

TEST_CASE("a pool that was not asked for it has no timeline") {
    Pool pool = open();
    CHECK_THROWS_AS(pool.timeline(), InvalidArgument);
    pool.close();
}

TEST_CASE("ranks with other functions are an error on all") {
    if (world_size() > 1) {
        Functions own = functions();
        own.add(world_rank() == 0 ? "one" : "other", add_up);
        mpi::Comm comm = mpi::Comm::duplicate(world().handle());
        CHECK_THROWS_AS(Pool(std::move(comm), own), InvalidArgument);
    }
}
