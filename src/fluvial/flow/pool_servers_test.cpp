// SPDX-License-Identifier: Apache-2.0
// Pools of several servers.
#include <numeric>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

Bytes where(const Call& /*call*/) {
    return bytes_of<std::int64_t>(world_rank());
}

Bytes count_bytes(const Call& call) {
    std::int64_t sum = 0;
    for (const auto input : call.inputs) {
        for (const std::byte one : input) {
            sum += std::to_integer<std::int64_t>(one);
        }
    }
    return bytes_of(sum);
}

Bytes echo(const Call& call) {
    return {call.inputs.front().begin(), call.inputs.front().end()};
}

/// As many servers as this number of ranks can have.
PoolOptions most_servers() {
    PoolOptions options;
    options.servers = 1 + (world().size() - 1) / 2;
    return options;
}

Pool open(const PoolOptions& options) {
    Functions all = common_functions();
    all.add("where", where, Runs::Parallel);
    all.add("count bytes", count_bytes);
    all.add("echo", echo);
    return Pool(mpi::Comm::duplicate(world().handle()), std::move(all), options);
}

}  // namespace

TEST_CASE("tasks run on all ranks that do not serve, and on no other") {
    const PoolOptions options = most_servers();
    Pool pool = open(options);
    CHECK(pool.workers() == pool.size() - options.servers);
    if (pool.leads()) {
        std::set<int> seen;
        for (const int rank : pool.worker_ranks()) {
            seen.insert(static_cast<int>(got(pool.submit("where", {Bytes()}, at(rank)))));
        }
        CHECK(seen == std::set<int>(pool.worker_ranks().begin(), pool.worker_ranks().end()));
        const int relay = pool.worker_ranks().front() - 1;
        CHECK_THROWS_WITH_AS(pool.submit("where", {Bytes()}, at(relay)),
                             doctest::Contains("no task can run near this rank"), InvalidArgument);
    }
    pool.close();
}

TEST_CASE("tasks that run are cancelled through several servers") {
    Pool pool = open(most_servers());
    if (pool.leads()) {
        for (const int rank : pool.worker_ranks()) {
            cancel_what_runs(pool, at(rank));
        }
    }
    pool.close();
}

TEST_CASE("many brief tasks, and what depends on them, through several servers") {
    Pool pool = open(most_servers());
    if (pool.leads()) {
        constexpr std::int64_t count = 10'000;
        std::vector<Future> futures;
        for (std::int64_t i = 0; i < count; ++i) {
            futures.push_back(
                i < 2 ? pool.submit("add up", {bytes_of(i)})
                      : pool.submit("add up",
                                    {bytes_of(i),
                                     futures[static_cast<std::size_t>(i % 7 == 0 ? i - 2 : 0)]}));
        }
        std::vector<std::int64_t> expected(count);
        for (std::int64_t i = 0; i < count; ++i) {
            expected[static_cast<std::size_t>(i)] =
                i + (i >= 2 && i % 7 == 0 ? expected[static_cast<std::size_t>(i - 2)] : 0);
            REQUIRE(got(futures[static_cast<std::size_t>(i)]) ==
                    expected[static_cast<std::size_t>(i)]);
        }
    }
    pool.close();
}

TEST_CASE("a task is as wide as all ranks, whichever rank serves them") {
    Pool pool = open(most_servers());
    if (pool.leads()) {
        for (std::int64_t turn = 0; turn < 100; ++turn) {
            const int width = 1 + static_cast<int>(turn) % pool.workers();
            const Future wide = pool.submit("over team", {bytes_of(turn)}, on(width));
            CHECK(got(wide) == (turn * width + width * (width - 1) / 2) * width);
        }
        CHECK_THROWS_AS(pool.submit("over team", {Bytes()}, on(pool.workers() + 1)),
                        InvalidArgument);
        const Future failed = pool.submit("fail on", {bytes_of<std::int64_t>(pool.workers() - 1)},
                                          on(pool.workers()));
        CHECK_THROWS_AS(failed.get(), OutOfRange);
        CHECK_THROWS_AS(pool.submit("add up", {failed}).get(), OutOfRange);
    }
    pool.close();
}

TEST_CASE("large inputs and results, kept ones among them") {
    Pool pool = open(most_servers());
    if (pool.leads()) {
        Bytes large(3'000'000);
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < large.size(); ++i) {
            large[i] = static_cast<std::byte>(i * 2'654'435'761U >> 16);
            sum += std::to_integer<std::int64_t>(large[i]);
        }
        for (const bool keep : {false, true}) {
            TaskOptions options;
            options.keep = keep;
            std::vector<Argument> echoes;
            for (const int rank : pool.worker_ranks()) {
                options.near = Near{rank, false, true};
                echoes.emplace_back(pool.submit("echo", {large}, options));
            }
            const auto ranks = static_cast<std::int64_t>(echoes.size());
            CHECK(got(pool.submit("count bytes", echoes)) == sum * ranks);
            CHECK(pool.submit("echo", {large}, options).get() == large);
        }
    }
    pool.close();
}

TEST_CASE("tasks that start together, on the ranks of several servers") {
    Pool pool = open(most_servers());
    if (pool.leads() && pool.workers() > 1) {
        for (int turn = 0; turn < 20; ++turn) {
            const auto both = pool.submit_together(
                {{"where", {Bytes()}, on(1)}, {"where", {Bytes()}, on(pool.workers() - 1)}});
            CHECK(got(both[0]) != got(both[1]));
        }
    }
    pool.close();
}

TEST_CASE("a lead that works beside other servers, and cancelled tasks") {
    PoolOptions options = most_servers();
    options.lead_works = true;
    Pool pool = open(options);
    CHECK(pool.workers() == pool.size() - options.servers + 1);
    if (pool.leads()) {
        CHECK(got(pool.submit("over team", {bytes_of<std::int64_t>(1)}, on(pool.workers()))) > 0);
        CHECK(got(pool.submit("where", {Bytes()}, at(0))) == 0);
        for (int i = 0; i < 50; ++i) {
            pool.submit("sleep", {bytes_of<std::int64_t>(20)});
        }
        pool.cancel_and_close();
    } else {
        pool.close();
    }
}

TEST_CASE("servers that would have nobody to serve are an error on all ranks") {
    PoolOptions options;
    options.servers = world().size();
    CHECK_THROWS_WITH_AS(open(options), doctest::Contains("the number of servers of a pool"),
                         InvalidArgument);
    options.servers = world_rank() == 0 ? 1 : 2;
    CHECK_THROWS_WITH_AS(open(options), doctest::Contains("servers"), InvalidArgument);
    options.servers = -1;
    CHECK_THROWS_AS(open(options), InvalidArgument);
}

TEST_CASE("one server on each host is the lead alone on a single host") {
    PoolOptions options;
    options.servers = servers_by_host;
    Pool pool = open(options);
    CHECK(pool.workers() == pool.size() - 1);
    if (pool.leads()) {
        CHECK(got(pool.submit("add up", {bytes_of<std::int64_t>(4)})) == 4);
    }
    pool.close();
}

TEST_CASE("a pool that the program does not close lets all ranks go") {
    {
        Pool pool = open(most_servers());
        if (pool.leads()) {
            for (std::int64_t i = 0; i < 50; ++i) {
                pool.submit("add up", {bytes_of(i)});
            }
            pool.submit("add up", {bytes_of<std::int64_t>(1)}).get();
        } else {
            pool.close();
        }
    }
    CHECK(world().sum(1) == world().size());
}
