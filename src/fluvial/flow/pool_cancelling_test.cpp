// SPDX-License-Identifier: Apache-2.0
// Tasks that are cancelled, before they begin and while they run.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <vector>

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

std::atomic<bool> told{false};

void tell(int) {
    if (take_cancellation()) {
        told = true;
    }
}

Bytes until_told(const Call&) {
    while (!told.exchange(false)) {
    }
    return {};
}

}  // namespace

TEST_CASE("a task that neither asks nor waits gets a signal") {
    std::signal(SIGURG, tell);
    Functions functions = common_functions();
    functions.add("until told", until_told);
    PoolOptions options;
    options.cancel_signal = SIGURG;
    Pool pool(mpi::Comm::duplicate(world().handle()), functions, options);
    if (pool.leads() && pool.size() > 1) {
        for (int round = 0; round < 3; ++round) {
            const Future future = pool.submit("until told", {}, at(1));
            while (future.state()->phase.load() != Phase::Running) {
                pool.wait_for_some(0.001);
            }
            CHECK(future.cancel(true));
            CHECK_THROWS_AS(future.get(), TaskCancelled);
            CHECK_NOTHROW(pool.submit("sleep", {bytes_of<std::int64_t>(0)}, at(1)).get());
        }
    }
    pool.close();
    std::signal(SIGURG, SIG_DFL);
    CHECK_FALSE(take_cancellation());
}

TEST_CASE("a task that has not begun can be cancelled") {
    Pool pool = open();
    if (pool.leads()) {
        const Future before = pool.submit("sleep", {bytes_of<std::int64_t>(50)});
        std::vector<Future> rest;
        for (int i = 0; i < 20; ++i) {
            rest.push_back(pool.submit("sleep", {bytes_of<std::int64_t>(1), before, before}));
        }
        CHECK(rest.back().cancel());
        CHECK(rest.back().done());
        CHECK_THROWS_WITH_AS(rest.back().get(), "the task was cancelled before it began", Error);
        before.get();
        CHECK_FALSE(before.cancel());
    }
    pool.close();
}

TEST_CASE("a task that runs can be cancelled") {
    for (const bool lead_works : {false, true}) {
        CAPTURE(lead_works);
        PoolOptions options;
        options.lead_works = lead_works;
        Pool pool = open(options);
        if (pool.leads() && pool.size() > 1) {
            for (const int rank : pool.worker_ranks()) {
                cancel_what_runs(pool, at(rank));
            }
            const Future wide =
                pool.submit("over team", {bytes_of<std::int64_t>(0)}, on(pool.workers()));
            CHECK(got(wide) >= 0);
            CHECK_FALSE(task_cancelled());
        }
        pool.close();
    }
}

TEST_CASE("a task that asks whether it was cancelled learns that it has outlived its limit") {
    Pool pool = open();  // also where the lead itself runs it
    if (pool.leads()) {
        for (const char* const function : {"asks", "waits"}) {
            for (const int retries : {0, 2}) {
                TaskOptions options;
                options.timeout_s = 0.05;
                options.retries = retries;
                const Future late = pool.submit(function, {bytes_of<std::int64_t>(0)}, options);
                CHECK_THROWS_WITH_AS(
                    late.get(),
                    doctest::Contains(
                        text("the task '", function, "' outlived its time limit; allowed: up to")
                            .c_str()),
                    TimedOut);
                CHECK_NOTHROW(pool.submit("sleep", {bytes_of<std::int64_t>(0)}).get());
            }
        }
    }
    pool.close();
}

TEST_CASE(
    "ranks that wait for one that has failed come back, and the next task knows nothing of it") {
    PoolOptions options;
    options.stuck_after_s = 60;
    Pool pool = open(options);
    if (pool.leads() && pool.workers() > 1) {
        const std::int64_t ranks = pool.workers();
        for (std::int64_t i = 0; i < 5; ++i) {
            TaskOptions wide = on(pool.workers());
            wide.fresh = true;  // else a wait of the team is not broken off
            const Future failed = pool.submit("fail or wait", {bytes_of<std::int64_t>(0)}, wide);
            CHECK_THROWS_AS(failed.get(), OutOfRange);
            wide.fresh = i % 2 == 0;
            const Future next = pool.submit("over team", {bytes_of(i)}, wide);
            CHECK(got(next) == (ranks * i + ranks * (ranks - 1) / 2) * ranks);
        }
    }
    pool.close();
}
