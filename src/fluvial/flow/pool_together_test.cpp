// SPDX-License-Identifier: Apache-2.0
// Tasks that start together, where others ran, or several at once.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

/// Waits until as many tasks as the second input says are here: the first names their barrier.
Bytes meet(const Call& call) {
    const auto barrier = static_cast<int>(value_of<std::int64_t>(call.inputs[0]));
    const std::string folder = std::filesystem::temp_directory_path() / "fluvial-barrier-";
    const std::string mine = folder + std::to_string(getppid()) + "-" + std::to_string(barrier);
    const std::string wide = call.team.size() > 1 || call.inputs.size() > 2 ? "-b" : "-a";
    if (call.team.rank() == 0) {
        std::ofstream(mine + wide) << "here";
        const std::string other = mine + (wide == "-a" ? "-b" : "-a");
        const Deadline deadline(30);
        while (!std::filesystem::exists(other) && !deadline.passed()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        if (deadline.passed()) {
            throw TimedOut("the other task did not start");
        }
        std::filesystem::remove(other);
    }
    return bytes_of<std::int64_t>(call.team.size());
}

Bytes rank_of_pool(const Call&) {
    return bytes_of<std::int64_t>(world_rank());
}

Pool open() {
    Functions all = common_functions();
    all.add("meet", meet, Runs::Parallel);
    all.add("rank", rank_of_pool);
    return {mpi::Comm::duplicate(world().handle()), all, {}};
}

}  // namespace

TEST_CASE("brief tasks of two ranks are sent ahead, and of wider teams one by one") {
    Pool pool = open();
    if (pool.leads()) {
        for (int width = 1; width <= std::min(4, pool.workers()); ++width) {
            std::vector<Future> futures;
            for (std::int64_t i = 0; i < 3'000; ++i) {
                futures.push_back(pool.submit("over team", {bytes_of(i)}, on(width)));
            }
            for (std::int64_t i = 0; i < 3'000; ++i) {
                const std::int64_t expected = (i * width + width * (width - 1) / 2) * width;
                REQUIRE(got(futures[static_cast<std::size_t>(i)]) == expected);
            }
        }
    }
    pool.close();
}

TEST_CASE("tasks that start together meet; each has its own team") {
    Pool pool = open();
    if (pool.leads() && pool.workers() > 1) {
        const int wide = pool.workers() - 1;
        std::vector<std::vector<Future>> gangs;
        for (std::int64_t turn = 0; turn < 20; ++turn) {
            const Future first = pool.submit("add up", {bytes_of(turn)});
            gangs.push_back(pool.submit_together(
                {{"meet", {bytes_of(100 + turn), bytes_of<std::int64_t>(2)}, on(1)},
                 {"meet", {bytes_of(100 + turn), bytes_of<std::int64_t>(2), first}, on(wide)}}));
        }
        for (const auto& gang : gangs) {
            CHECK(got(gang[0]) == 1);
            CHECK(got(gang[1]) == wide);
        }
    }
    pool.close();
}

TEST_CASE("tasks that start together fail together before they start") {
    Pool pool = open();
    if (pool.leads() && pool.workers() > 1) {
        const Future bad = pool.submit("fail on", {bytes_of<std::int64_t>(0)});
        const auto gang = pool.submit_together({{"add up", {bytes_of<std::int64_t>(1)}},
                                                {"add up", {bytes_of<std::int64_t>(1), bad}}});
        CHECK_THROWS_AS(gang[0].get(), OutOfRange);
        CHECK_THROWS_AS(gang[1].get(), OutOfRange);
        const auto one = bytes_of<std::int64_t>(1);
        const int all = pool.workers();
        CHECK_THROWS_WITH_AS(
            pool.submit_together({{"over team", {one}, on(all)}, {"over team", {one}, on(1)}}),
            doctest::Contains("2 tasks on"), InvalidArgument);
        CHECK_THROWS_WITH_AS(pool.submit_together({{"add up", {one}, at(all)}}),
                             doctest::Contains("got a place (near); allowed: one width"),
                             InvalidArgument);
        TaskOptions moldable;
        moldable.ranks = {1, all, {}};
        CHECK_THROWS_WITH_AS(pool.submit_together({{"over team", {one}, moldable}}),
                             doctest::Contains(text("got 1 to ", all, " ranks; ").c_str()),
                             InvalidArgument);
        CHECK_THROWS_AS(pool.submit_together({}), InvalidArgument);
        const Future held = pool.submit("sleep", {bytes_of<std::int64_t>(200)}, at(all));
        const auto cancelled =
            pool.submit_together({{"over team", {one}, on(all - 1)}, {"over team", {one}, on(1)}});
        CHECK(cancelled[1].cancel());
        CHECK_THROWS_AS(cancelled[0].get(), Error);
        CHECK(cancelled[0].state()->cancelled);
        held.get();
        CHECK(got(pool.submit("over team", {one}, on(all))) > 0);  // all ranks are there
    }
    pool.close();
}

TEST_CASE("of tasks that started together one is cancelled, and the others go on") {
    Pool pool = open();
    if (pool.leads() && pool.workers() > 1) {
        const auto one = bytes_of<std::int64_t>(1);
        const auto gang = pool.submit_together({{"asks", {one}}, {"add up", {one, one}}});
        while (gang[0].state()->phase.load() != Phase::Running) {
            pool.wait_for_some(0.001);
        }
        CHECK(gang[0].cancel(true));
        CHECK_THROWS_AS(gang[0].get(), TaskCancelled);
        CHECK(got(gang[1]) == 2);
        CHECK(got(pool.submit("over team", {one}, on(pool.workers()))) > 0);  // all are there
    }
    pool.close();
}

TEST_CASE("a task runs where another one ran") {
    Pool pool = open();
    if (pool.leads()) {
        std::vector<std::pair<Future, Future>> pairs;
        for (std::int64_t i = 0; i < 40; ++i) {
            const Future first = pool.submit("rank", {});
            TaskOptions there;
            there.near = Near{0, false, true};
            there.near_task = first.state();
            pairs.emplace_back(first, pool.submit("rank", {}, there));
        }
        for (const auto& [first, second] : pairs) {
            CHECK(got(first) == got(second));
        }
        const Future bad = pool.submit("fail on", {bytes_of<std::int64_t>(0)});
        TaskOptions near_bad;
        near_bad.near_task = bad.state();
        CHECK(got(pool.submit("add up", {bytes_of<std::int64_t>(7)}, near_bad)) == 7);
        CHECK_THROWS_AS(pool.submit("add up", {bad}, near_bad).get(), OutOfRange);
    }
    pool.close();
}
