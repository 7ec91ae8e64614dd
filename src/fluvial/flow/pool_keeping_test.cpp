// SPDX-License-Identifier: Apache-2.0
// Results that stay on the ranks that made them.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/flow/kept_results_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

Bytes look_together(const Call& call) {
    call.team.sum(std::int64_t{1});
    return look(call);
}

Bytes fail(const Call&) {
    throw OutOfRange("told to fail");
}

Pool open(bool lead_works = false) {
    Functions all;
    all.add("make", make, Runs::Parallel);
    all.add("look", look);
    all.add("look together", look_together, Runs::Parallel);
    all.add("fail", fail);
    all.add("allocated", allocated);
    PoolOptions options;
    options.lead_works = lead_works;
    return Pool(mpi::Comm::duplicate(world().handle()), all, options);
}

TaskOptions kept_on(int rank) {
    TaskOptions options;
    options.near = Near{rank, false, true};
    options.keep = true;
    return options;
}

}  // namespace

TEST_CASE("a kept result is not here until it is asked for, and then it is what was made") {
    Pool pool = open();
    if (pool.leads() && pool.size() > 1) {
        const Future made = pool.submit("make", {bytes_of<std::uint64_t>(large)}, kept_on(1));
        while (!made.done()) {
            pool.wait_for_some(0.01);
        }
        CHECK(made.state()->result == nullptr);
        CHECK(made.get() == Bytes(large, std::byte{1}));
        CHECK(&made.get() == &made.get());  // it is fetched once
        CHECK(pool.result(made.state(), 0)->size() == large);
        const Future empty = pool.submit("make", {bytes_of<std::uint64_t>(0)}, kept_on(1));
        CHECK(empty.get().empty());
    }
    pool.close();
}

TEST_CASE("the next task runs where its input is, and elsewhere has it from there") {
    Pool pool = open();
    if (pool.leads() && pool.size() > 1) {
        std::vector<Seen> seen;
        for (int rank = 1; rank < pool.size(); ++rank) {
            const Future made =
                pool.submit("make", {bytes_of<std::uint64_t>(large)}, kept_on(rank));
            CHECK(ran_on(pool.submit("look", {made}), seen) == rank);
            for (int other = 1; other < pool.size(); ++other) {
                CHECK(ran_on(pool.submit("look", {made, made}, at(other)), seen) == other);
                REQUIRE(seen.size() == 2);
                CHECK(seen[1].size == large);
                CHECK(seen[1].made_on == rank);
            }
            CHECK(made.state()->result == nullptr);
            CHECK_FALSE(made.state()->ties->kept->fetched);  // none of it went by the lead
        }
    }
    pool.close();
}

TEST_CASE("teams have kept results of several ranks") {
    Pool pool = open();
    if (pool.leads() && pool.size() > 1) {
        TaskOptions wide;
        wide.ranks = {pool.workers(), pool.workers(), {}};
        std::vector<Argument> made;
        for (int rank = 1; rank < pool.size(); ++rank) {
            made.emplace_back(pool.submit("make", {bytes_of<std::uint64_t>(large)}, kept_on(rank)));
        }
        std::vector<Seen> seen;
        ran_on(pool.submit("look together", made, wide), seen);
        REQUIRE(static_cast<int>(seen.size()) == pool.workers());
        for (int rank = 1; rank < pool.size(); ++rank) {
            CHECK(seen[static_cast<std::size_t>(rank - 1)].made_on == rank);
        }
        wide.keep = true;
        const Future by_all = pool.submit("make", {bytes_of<std::uint64_t>(7)}, wide);
        CHECK(by_all.get().size() == 7);
        CHECK(by_all.state()->ties->kept->rank == by_all.state()->place);
    }
    pool.close();
}

TEST_CASE("many kept results pass between all ranks") {
    Pool pool = open(world_size() > 1);
    if (pool.leads() && pool.size() > 1) {
        std::vector<Future> layer;
        for (std::uint64_t task = 0; task < 16; ++task) {
            TaskOptions keep;
            keep.keep = true;
            layer.push_back(pool.submit("make", {bytes_of<std::uint64_t>(200'000 + task)}, keep));
        }
        std::vector<Future> looks;
        for (std::size_t task = 0; task < 200; ++task) {
            const int rank = static_cast<int>(task) % pool.size();
            looks.push_back(
                pool.submit("look", {layer[task % 16], layer[(task * 7) % 16]}, at(rank)));
        }
        std::vector<Seen> seen;
        for (std::size_t task = 0; task < 200; ++task) {
            CHECK(ran_on(looks[task], seen) == static_cast<int>(task) % pool.size());
            CHECK(seen[0].size == 200'000 + task % 16);
            CHECK(seen[1].size == 200'000 + (task * 7) % 16);
        }
        for (const Future& future : layer) {
            future.get();
        }
    }
    pool.close();
}

#ifdef __GLIBC__
TEST_CASE("a kept result is freed with its last future, and not before") {
    Pool pool = open();
    if (pool.leads() && pool.size() > 1) {
        constexpr std::uint64_t size = 20'000'000;
        const auto on_rank_1 = [&] {
            const Future future = pool.submit("allocated", {}, at(1));
            return ByteReader(future.get()).get<std::uint64_t>();
        };
        const std::uint64_t before = on_rank_1();
        Future made = pool.submit("make", {bytes_of(size)}, kept_on(1));
        const Future look = pool.submit("look", {made}, at(1));
        look.get();
        CHECK(on_rank_1() > before + size / 2);
        Future copy = made;
        made = {};
        CHECK(on_rank_1() > before + size / 2);
        copy = {};
        pool.wait_for_some(0);  // a turn of the server
        CHECK(on_rank_1() < before + size / 2);
    }
    pool.close();
}
#endif

TEST_CASE("a task that fails keeps nothing") {
    Pool pool = open();
    if (pool.leads()) {
        TaskOptions keep;
        keep.keep = true;
        const Future failed = pool.submit("fail", {}, keep);
        CHECK_THROWS_AS(pool.submit("look", {failed}).get(), OutOfRange);
        CHECK_THROWS_AS(failed.get(), OutOfRange);
    }
    pool.close();
}

TEST_CASE("in a pool of one rank a kept result is like any other") {
    if (world_size() == 1) {
        Pool pool = open();
        TaskOptions keep;
        keep.keep = true;
        CHECK(pool.submit("make", {bytes_of<std::uint64_t>(5)}, keep).get().size() == 5);
        pool.close();
    }
}

TEST_CASE("a pool that an exception ends, while a result is on its way, lets the other ranks go") {
    {
        Pool pool = open();
        if (!pool.leads()) {
            pool.close();
        } else if (pool.size() > 1) {
            const Future made = pool.submit("make", {bytes_of<std::uint64_t>(large)}, kept_on(1));
            while (!made.done()) {
                pool.wait_for_some(0.01);
            }
            pool.result(made.state(), 0);
        }
    }
    CHECK(world().sum(1) == world_size());
}

TEST_CASE("a result that was not fetched is gone with the pool") {
    Pool pool = open();
    Future made;
    if (pool.leads() && pool.size() > 1) {
        made = pool.submit("make", {bytes_of<std::uint64_t>(large)}, kept_on(1));
    }
    pool.close();
    if (made.state()) {
        CHECK_THROWS_WITH_AS(made.get(), doctest::Contains("it stayed on rank 1"), Error);
    }
}
