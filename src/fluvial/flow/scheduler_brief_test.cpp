// SPDX-License-Identifier: Apache-2.0
/// Brief tasks are sent ahead, several at a time.
#include <doctest/doctest.h>

#include "fluvial/flow/scheduler.hpp"
#include "fluvial/flow/scheduler_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

TEST_CASE("a rank gets several tasks at once when their kind is known to be brief") {
    SchedulerOptions options;
    options.prefetch = 4;
    options.prefetch_s = 1e-3;
    Scheduler scheduler(one_host(2), options);
    add(scheduler, 0, 20);
    CHECK(ids(scheduler.next(0)) == Ids{0, 1});
    scheduler.finish(0, 1e-6);
    CHECK(ids(scheduler.next(0)) == Ids{2, 3});  // as yet one has shown how brief they are
    scheduler.finish(1, 1e-6);
    const std::vector<Start> more = scheduler.next(0);
    CHECK(ids(more) == Ids{4, 5, 6, 7});
    for (const Start& start : more) {
        CHECK(start.ranks == std::vector<int>{1});
    }
    scheduler.finish(2, 1);  // not brief after all
    CHECK(scheduler.next(0).empty());
    scheduler.finish(3, 1e-6);
    CHECK(ids(scheduler.next(0)) == Ids{8});
}

TEST_CASE("a task that was sent behind one that lasts starts elsewhere, before others") {
    Scheduler scheduler(one_host(2), ahead(4));
    run_briefly(scheduler, 0, 2);
    add(scheduler, 10, 20);
    REQUIRE(ids(scheduler.next(0)) == Ids{10, 11, 12, 13, 14, 15, 16, 17});
    for (const TaskId task : {16, 14, 12}) {  // they were behind 10, which lasts
        scheduler.take_back(request(task, 1));
    }
    CHECK(scheduler.waiting() == 5);
    CHECK(scheduler.next(0).empty());  // not on the rank that has just given them back
    scheduler.finish(11, 1e-6);
    const std::vector<Start> next = scheduler.next(0);
    CHECK(ids(next) == Ids{12});
    CHECK(next.front().ranks == std::vector{1});
    scheduler.remove(14);
    scheduler.finish(10, 1e-6);
    CHECK(ids(scheduler.next(0)) == Ids{16, 18, 19});
    CHECK(scheduler.waiting() == 0);
}

TEST_CASE("a task that is to begin at once gets idle ranks, and has them alone") {
    Scheduler scheduler(one_host(1), ahead(4));
    run_briefly(scheduler, 0, 3);
    for (TaskId task = 3; task < 7; ++task) {
        Request limited = request(task, 1);
        limited.at_once = task >= 5;
        scheduler.add(limited, 0);
    }
    CHECK(ids(scheduler.next(0)) == Ids{3, 4});
    scheduler.finish(3, 1e-6);
    CHECK(scheduler.next(0).empty());
    scheduler.finish(4, 1e-6);
    CHECK(ids(scheduler.next(0)) == Ids{5});
    scheduler.add(request(7, 1), 0);
    CHECK(scheduler.next(0).empty());
    scheduler.finish(5, 1e-6);
    CHECK(scheduler.next(0).size() == 1);
}

TEST_CASE("a team of two gets several brief tasks at once, a wider one does not") {
    Scheduler scheduler(one_host(4), ahead(4));
    add(scheduler, 0, 12, 2);
    REQUIRE(ids(scheduler.next(0)) == Ids{0, 1});
    scheduler.finish(0, 1e-6);
    scheduler.finish(1, 1e-6);
    const auto starts = scheduler.next(0);
    CHECK(ids(starts) == Ids{2, 3, 4, 5, 6, 7, 8, 9});
    for (const Start& start : starts) {
        CHECK((start.ranks == std::vector{0, 1} || start.ranks == std::vector{2, 3}));
    }
    for (TaskId task = 2; task < 10; ++task) {
        scheduler.finish(task, 1e-6);
    }
    CHECK(ids(scheduler.next(0)) == Ids{10, 11});
    scheduler.finish(10, 1e-6);
    scheduler.finish(11, 1e-6);
    add(scheduler, 20, 24, 3);
    CHECK(ids(scheduler.next(0)) == Ids{20});
    scheduler.finish(20, 1e-6);
    CHECK(ids(scheduler.next(0)) == Ids{21});
}

TEST_CASE("a wide task stops the supply of brief ones") {
    Scheduler scheduler(one_host(1), ahead(4));
    run_briefly(scheduler, 20, 22);
    add(scheduler, 1, 9);
    REQUIRE(scheduler.next(0).size() == 4);
    Request other = request(9, 1, unknown_s, 1);
    other.kind = 7;
    scheduler.add(other, 0);
    for (TaskId task = 1; task < 5; ++task) {
        CHECK(scheduler.next(0).empty());
        scheduler.finish(task, 1e-6);
    }
    CHECK(ids(scheduler.next(0)) == Ids{9});
}
