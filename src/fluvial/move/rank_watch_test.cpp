// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/rank_watch.hpp"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

constexpr double long_s = 60;

mpi::Comm own_comm() {
    return mpi::Comm::duplicate(MPI_COMM_WORLD);
}

/// The duplicates of calls that end early are left to MPI.
struct OwnComm {
    mpi::Comm comm = own_comm();
    ~OwnComm() { comm.abandon(); }
};

void wait_for(double seconds) {
    const Deadline until(seconds);
    wait_until([&] { return until.passed(); }, Deadline(long_s), "time did not pass");
}

bool is_last() {
    return world_rank() == world_size() - 1;
}

}  // namespace

TEST_CASE("a communicator has one watch, which goes with it; one rank has none") {
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    CHECK((watch != nullptr) == (world_size() > 1));
    CHECK(watch == RankWatch::of(comm.to_fortran()));
    const WatchedTask task(watch, long_s, "the test");
    CHECK(task.during([&] { return comm.sum(1); }) == world_size());
    CHECK_FALSE(task.ended());
    comm.close();
}

TEST_CASE("others are told of an error in a task, which ends their waits") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    for (int round = 0; round < 3; ++round) {
        const OwnComm own;
        const std::string from = is_last() ? "" : text("rank ", world_size() - 1, " of ");
        const WatchedTask task(watch, long_s, "the test");
        const auto call = [&] {
            task.during([&] {
                if (is_last()) {
                    throw TimedOut(Problem{text("nothing moved in round ", round), "", "", ""});
                }
                own.comm.barrier();
            });
        };
        CAPTURE(round);
        std::string said;
        try {
            call();
        } catch (const TimedOut& error) {
            said = error.what();
        }
        CHECK(said.find(text("in round ", round)) != std::string::npos);
        CHECK(said.find(from) == 0);
        CHECK(task.ended() == !is_last());
    }
    comm.abandon();
}

TEST_CASE("an error that all have ended with is no matter of the next task") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    const auto fail = [&] {
        WatchedTask(watch, long_s, "the test").during([] {
            throw InvalidArgument(Problem{"wrong", "", "", ""});
        });
    };
    CHECK_THROWS_AS(fail(), InvalidArgument);
    comm.barrier();
    WatchedTask(watch, long_s, "the test").during([&] {
        wait_for(0.4);  // longer than the time between two looks
        comm.barrier();
    });
    CHECK(comm.sum(1) == world_size());
    comm.close();
}

TEST_CASE("an error in a later task is one when that has begun") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    const OwnComm own;
    WatchedTask(watch, long_s, "the test").during([&] {
        if (!is_last()) {
            wait_for(0.5);  // while the last one is in the next task already
        }
    });
    const auto next = [&] {
        WatchedTask(watch, long_s, "the test").during([&] {
            if (is_last()) {
                throw SystemError(Problem{"the disk is full", "", "", ""});
            }
            own.comm.barrier();
        });
    };
    CHECK_THROWS_WITH_AS(next(), doctest::Contains("the disk is full"), SystemError);
    comm.abandon();
}

TEST_CASE("a limit that cannot be kept is told to all") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    const OwnComm own;
    const auto call = [&] {
        const WatchedTask task(watch, is_last() ? 0.5 : long_s, "the test");
        task.during([&] { own.comm.barrier(); });
    };
    CHECK_THROWS_WITH_AS(call(), doctest::Contains("got 0.5 s; allowed: 2 s or more"),
                         InvalidArgument);
    comm.abandon();
}

TEST_CASE("a rank that is stopped is an error on all, also on itself when it goes on") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    const OwnComm own;
    comm.barrier();
    const auto call = [&] {
        WatchedTask(watch, RankWatch::stall_timeout_min_s, "the test").during([&] {
            if (is_last()) {
                const std::string stop =
                    text("(kill -STOP ", getpid(), "; sleep 5; kill -CONT ", getpid(), ") &");
                REQUIRE(std::system(stop.c_str()) == 0);
                wait_for(0.5);  // of which most passes before it is stopped, or after
            }
            own.comm.barrier();  // which the stopped one may pass when it goes on,
            own.comm.barrier();  // but not this one, to which the others do not come
        });
    };
    CHECK_THROWS_WITH_AS(call(), doctest::Contains("a larger stall_timeout of the test"),
                         PeerStalled);
    comm.abandon();
}

TEST_CASE("an error in the first call of a task ends a later one of the same task") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    const OwnComm own;
    const WatchedTask task(watch, long_s, "the test");
    const auto all_calls = [&] {
        task.during([&] {
            if (is_last()) {
                throw Error(Problem{"interrupted", "", "", ""});
            }
        });
        task.during([&] { own.comm.barrier(); });
    };
    CHECK_THROWS_WITH_AS(all_calls(), doctest::Contains("interrupted"), Error);
    const WatchedTask next(watch, long_s, "the test");
    CHECK(next.during([&] { return comm.sum(1); }) == world_size());
    comm.close();
}

TEST_CASE("all come before any goes on, and tasks that were given up are no matter") {
    if (world_size() == 1) {
        return;
    }
    mpi::Comm comm = own_comm();
    const auto watch = RankWatch::of(comm);
    for (int round = 0; round < 3; ++round) {
        const WatchedTask given_up(watch, long_s, "the test");
        const auto come = [&] {
            given_up.telling([&] {
                if (is_last()) {
                    throw TimedOut(Problem{"no more time", "", "", ""});
                }
                given_up.come();
            });
        };
        CHECK_THROWS_WITH_AS(come(), doctest::Contains("no more time"), TimedOut);
        const WatchedTask next(watch, long_s, "the test");
        next.come();
        CHECK(next.during([&] { return comm.sum(1); }) == world_size());
    }
    comm.close();
}
