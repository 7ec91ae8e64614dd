// SPDX-License-Identifier: Apache-2.0
// Results that stay on the ranks that made them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

constexpr std::size_t large = 3'000'000;

template <class T>
Bytes bytes_of(const T& value) {
    ByteWriter out;
    out.put(value);
    return out.take();
}

/// As many bytes as it is told, all of which say where it ran.
Bytes make(const Call& call) {
    const auto size = ByteReader(call.inputs.front()).get<std::uint64_t>();
    return Bytes(size, static_cast<std::byte>(world_rank()));
}

/// Where it runs, and for each input its size and where that was made.
Bytes look(const Call& call) {
    ByteWriter out;
    out.put(world_rank());
    for (const auto input : call.inputs) {
        out.put<std::uint64_t>(input.size());
        out.put(static_cast<int>(input.front()));
        if (input.front() != input.back()) {
            throw Error("an input is not what was made");
        }
    }
    return out.take();
}

Bytes look_together(const Call& call) {
    call.team.sum(std::int64_t{1});
    return look(call);
}

/// Bytes that are allocated on the rank that runs it.
Bytes allocated(const Call&) {
#ifdef __GLIBC__
    const struct mallinfo2 now = mallinfo2();
    return bytes_of<std::uint64_t>(now.uordblks + now.hblkhd);
#else
    return bytes_of<std::uint64_t>(0);
#endif
}

Bytes fail(const Call&) {
    throw OutOfRange("told to fail");
}

/// For each rank of the team, where its part was made and where it is.
Bytes own_part(const Call& call) {
    const std::span<const std::byte> part = call.inputs.front();
    if (part.front() != part.back()) {
        throw Error("a part is not what was made");
    }
    ByteWriter mine;
    mine.put(static_cast<int>(part.front()));
    mine.put(world_rank());
    ByteWriter out;
    for (const Bytes& one : call.team.allgather(mine.view())) {
        out.append(one.data(), one.size());
    }
    return out.take();
}

Bytes fail_on_the_last(const Call& call) {
    if (call.team.rank() == call.team.size() - 1) {
        throw OutOfRange("told to fail");
    }
    return Bytes(large);
}

Bytes make_and_fail_on_the_first(const Call& call) {
    if (call.team.rank() == 0) {
        throw OutOfRange("told to fail");
    }
    return make(call);
}

Bytes sleep(const Call&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return {};
}

Pool open(bool lead_works = false) {
    Functions all;
    all.add("make", make, Runs::Parallel);
    all.add("look", look);
    all.add("look together", look_together, Runs::Parallel);
    all.add("fail", fail);
    all.add("allocated", allocated);
    all.add("own part", own_part, Runs::Parallel);
    all.add("fail on the last", fail_on_the_last, Runs::Parallel);
    all.add("make and fail on the first", make_and_fail_on_the_first, Runs::Parallel);
    all.add("sleep", sleep);
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

TaskOptions at(int rank) {
    TaskOptions options = kept_on(rank);
    options.keep = false;
    return options;
}

struct Seen {
    std::uint64_t size = 0;
    int made_on = -1;
};

/// What look() says: where it ran, and what it saw.
int ran_on(const Future& future, std::vector<Seen>& seen) {
    ByteReader in(future.get());
    const int rank = in.get<int>();
    for (seen.clear(); !in.done();) {
        const auto size = in.get<std::uint64_t>();
        seen.push_back({size, in.get<int>()});
    }
    return rank;
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

TEST_CASE("each rank of a team keeps what it returned, and the next team has it without moving") {
    Pool pool = open();
    if (pool.leads()) {
        const int width = std::min(pool.workers(), 3);
        TaskOptions wide;
        wide.ranks = {width, width, {}};
        wide.keep_parts = true;
        const Future made = pool.submit("make", {bytes_of<std::uint64_t>(large)}, wide);
        const std::vector<Future> parts = made.parts();
        REQUIRE(static_cast<int>(parts.size()) == width);
        wide.keep_parts = false;
        const Future seen = pool.submit("own part", {Argument::own_part(made)}, wide);
        const Bytes ranks = seen.get();
        std::vector<int> makers;
        for (ByteReader in(ranks); !in.done();) {
            makers.push_back(in.get<int>());
            CHECK(in.get<int>() == makers.back());  // where it was made, it is
        }
        REQUIRE(static_cast<int>(makers.size()) == width);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            CHECK(parts[i].done());
            CHECK(parts[i].get() == Bytes(large, static_cast<std::byte>(makers[i])));
        }
        CHECK(made.get() == parts.front().get());
        std::vector<Seen> looked;
        std::vector<Argument> all(parts.begin(), parts.end());
        ran_on(pool.submit("look", all), looked);
        REQUIRE(looked.size() == parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            CHECK(looked[i].made_on == makers[i]);
        }
        CHECK(makers == [&] {
            std::vector<int> sorted = makers;
            std::ranges::sort(sorted);
            sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
            return sorted;
        }());
    }
    pool.close();
}

TEST_CASE("parts go to other ranks where the first ones have something to do") {
    Pool pool = open();
    if (pool.leads() && pool.workers() >= 4) {
        TaskOptions wide;
        wide.ranks = {2, 2, {}};
        wide.keep_parts = true;
        const Future made = pool.submit("make", {bytes_of<std::uint64_t>(large)}, wide);
        made.get();
        const int first = made.state()->place;
        const Future busy = pool.submit("sleep", {}, at(first));
        wide.keep_parts = false;
        wide.retries = 0;
        const Future seen = pool.submit("own part", {Argument::own_part(made)}, wide);
        const Bytes ranks = seen.get();
        ByteReader in(ranks);
        for (const Future& part : made.parts()) {
            CHECK(in.get<int>() == static_cast<int>(part.get().front()));
            CHECK(in.get<int>() != first);
        }
        busy.get();
    }
    pool.close();
}

TEST_CASE("a task that fails has no parts, and keeps none") {
    Pool pool = open();
    if (pool.leads()) {
        const int width = pool.workers();
        TaskOptions wide;
        wide.ranks = {width, width, {}};
        wide.keep_parts = true;
        const Future failed = pool.submit("fail on the last", {}, wide);
        CHECK_THROWS_AS(failed.get(), OutOfRange);
        for (const Future& part : failed.parts()) {
            CHECK_THROWS_AS(part.get(), OutOfRange);
        }
        wide.keep_parts = false;
        CHECK_THROWS_AS(pool.submit("own part", {Argument::own_part(failed)}, wide).get(),
                        OutOfRange);
        const Future without = pool.submit("make", {bytes_of<std::uint64_t>(1)}, wide);
        CHECK(without.parts().empty());
        CHECK_THROWS_WITH_AS(pool.submit("own part", {Argument::own_part(without)}, wide),
                             doctest::Contains("has no parts"), InvalidArgument);
        wide.keep_parts = true;
        const Future made = pool.submit("make", {bytes_of<std::uint64_t>(1)}, wide);
        if (width > 1) {
            CHECK_THROWS_WITH_AS(pool.submit("own part", {Argument::own_part(made)}),
                                 doctest::Contains("as wide as theirs"), InvalidArgument);
            wide.ranks = {1, width, {}};
            CHECK_THROWS_WITH_AS(pool.submit("make", {bytes_of<std::uint64_t>(1)}, wide),
                                 doctest::Contains("has one width"), InvalidArgument);
        }
    }
    pool.close();
}

#ifdef __GLIBC__
TEST_CASE("parts are freed with the last future that has them, also those of a task that failed") {
    Pool pool = open();
    if (pool.leads() && pool.size() > 1) {
        constexpr std::uint64_t size = 20'000'000;
        const int last = pool.worker_ranks().back();
        const auto on_the_last = [&] {
            const Future future = pool.submit("allocated", {}, at(last));
            return ByteReader(future.get()).get<std::uint64_t>();
        };
        TaskOptions wide;
        wide.ranks = {pool.workers(), pool.workers(), {}};
        wide.keep_parts = true;
        const std::uint64_t before = on_the_last();
        for (const bool fails : {false, true}) {
            Future made =
                pool.submit(fails ? "make and fail on the first" : "make", {bytes_of(size)}, wide);
            while (!made.done()) {
                pool.wait_for_some(0.01);
            }
            if (!fails) {
                std::vector<Future> parts = made.parts();
                made = {};
                CHECK(on_the_last() > before + size / 2);
                parts.clear();
            }
            pool.wait_for_some(0);  // a turn of the server
            CHECK(on_the_last() < before + size / 2);
        }
    }
    pool.close();
}
#endif
