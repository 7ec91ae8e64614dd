// SPDX-License-Identifier: Apache-2.0
// What tasks leave in the communicators of their teams.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/pool_fixture.hpp"
#include "fluvial/mpi/waiting_message.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

/// Rank 1 knows that it has come, and does not receive it.
Bytes leave_message(const Call& call) {
    const auto tag = static_cast<int>(value_of<std::int64_t>(call.inputs.front()));
    if (call.team.rank() == 0) {
        call.team.send(call.inputs.front(), 1, tag);
    }
    while (call.team.rank() == 1 && !mpi::waiting_message(call.team)) {
    }
    return {};
}

/// Fails everywhere, so that nobody looks what it has left.
Bytes leave_message_and_fail(const Call& call) {
    leave_message(call);
    throw OutOfRange("this task fails");
}

/// Receives one that is there, and says what it is.
Bytes look_for_message(const Call& call) {
    std::int64_t found = 0;
    if (call.team.rank() == 1) {
        if (const auto left = mpi::waiting_message(call.team)) {
            found = value_of<std::int64_t>(call.team.recv(left->source, left->tag));
        }
    }
    return bytes_of(call.team.sum(found));
}

Pool open(const PoolOptions& options) {
    Functions all;
    all.add("leave a message", leave_message, Runs::Parallel);
    all.add(
        "meet", [](const Call& call) { return bytes_of(call.team.sum(std::int64_t{1})); },
        Runs::Parallel);
    all.add("leave a message and fail", leave_message_and_fail, Runs::Parallel);
    all.add("look for a message", look_for_message, Runs::Parallel);
    return Pool(mpi::Comm::duplicate(world().handle()), std::move(all), options);
}

}  // namespace

TEST_CASE(
    "messages that a task has left are met by the next one of its team, and by none otherwise") {
    PoolOptions audited;
    for (const bool audits : {false, true}) {
        audited.audits = audits;
        Pool pool = open(audited);
        if (pool.leads() && pool.workers() > 1) {
            TaskOptions fresh = on(2);
            fresh.fresh = true;
            pool.submit("leave a message", {bytes_of<std::int64_t>(7)}, fresh);
            CHECK(got(pool.submit("look for a message", {}, fresh)) == 0);
            CHECK(got(pool.submit("look for a message", {}, on(2))) == 0);
            const Future left = pool.submit("leave a message", {bytes_of<std::int64_t>(8)}, on(2));
            if (audits) {
                CHECK_THROWS_WITH_AS(left.get(), doctest::Contains("one of rank 0 with tag 8"),
                                     Error);
                CHECK(got(pool.submit("look for a message", {}, on(2))) == 0);
                const Future failed =
                    pool.submit("leave a message and fail", {bytes_of<std::int64_t>(9)}, on(2));
                CHECK_THROWS_AS(failed.get(), OutOfRange);
                CHECK_THROWS_WITH_AS(pool.submit("meet", {}, on(2)).get(),
                                     doctest::Contains("this task, or an earlier one"), Error);
                CHECK(got(pool.submit("look for a message", {}, on(2))) == 0);
            } else {
                left.get();
                CHECK(got(pool.submit("look for a message", {}, fresh)) == 0);
                CHECK(got(pool.submit("look for a message", {}, on(2))) == 8);
            }
        }
        pool.close();
    }
}

#ifdef MPICH_VERSION
TEST_CASE("more tasks with a communicator of their own than MPI has communicators") {
    Pool pool = open({});
    if (pool.leads() && pool.workers() > 1) {
        TaskOptions fresh = on(2);
        fresh.fresh = true;
        std::vector<Future> sums;
        for (int i = 0; i < 2100; ++i) {  // MPICH has 2,046; the 65,532 of Open MPI take too long
            sums.push_back(pool.submit("look for a message", {}, fresh));
        }
        CHECK(std::ranges::all_of(sums, [](const Future& sum) { return got(sum) == 0; }));
    }
    pool.close();
}
#endif
