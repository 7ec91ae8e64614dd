// SPDX-License-Identifier: Apache-2.0
// Results of which each rank of a team keeps a part.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/flow/kept_results_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

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

Pool open(const PoolOptions& options = {}) {
    Functions all;
    all.add("make", make, Runs::Parallel);
    all.add("look", look);
    all.add("allocated", allocated);
    all.add("own part", own_part, Runs::Parallel);
    all.add("fail on the last", fail_on_the_last, Runs::Parallel);
    all.add("make and fail on the first", make_and_fail_on_the_first, Runs::Parallel);
    all.add("sleep", sleep);
    return Pool(mpi::Comm::duplicate(world().handle()), all, options);
}

}  // namespace

TEST_CASE("each rank of a team keeps what it returned, and the next team has it without moving") {
    PoolOptions options;
    SUBCASE("") {}
    SUBCASE("the lead works") {
        options.lead_works = true;
    }
    SUBCASE("several servers") {
        options.servers = 1 + (world_size() - 1) / 2;
    }
    Pool pool = open(options);
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
            sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
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
        while (busy.state()->phase.load() != Phase::Running) {
            pool.wait_for_some(0.001);
        }
        wide.keep_parts = false;
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
