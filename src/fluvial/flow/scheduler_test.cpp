// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/scheduler.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/scheduler_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

TEST_CASE("a wide task of high priority starts first, wherever it stands in the queue") {
    Scheduler scheduler(one_host(4));
    for (TaskId task = 0; task < 41; ++task) {
        scheduler.add(task == 8 ? request(task, 4, unknown_s, 1000) : request(task, 1), 0);
    }
    const auto starts = scheduler.next(0);
    REQUIRE(ids(starts) == Ids{8});
    CHECK(starts.front().ranks == std::vector<int>{0, 1, 2, 3});
    scheduler.finish(8, 1);
    CHECK(ids(scheduler.next(1)) == Ids{0, 1, 2, 3});
}

TEST_CASE("a task starts that comes after the last one like it has begun") {
    Scheduler scheduler(one_host(1));
    scheduler.add(request(1, 1, 10), 0);
    scheduler.add(request(2, 1, 10, 5), 0);
    REQUIRE(ids(scheduler.next(0)) == Ids{2});  // and none like it waits
    scheduler.finish(2, 3);                     // what is learned puts the rest in order
    REQUIRE(ids(scheduler.next(3)) == Ids{1});
    scheduler.finish(1, unknown_s);
    scheduler.add(request(3, 1, 10, 5), 4);
    CHECK(ids(scheduler.next(4)) == Ids{3});
}

TEST_CASE("no task of a lower priority delays one of a higher that waits for ranks") {
    Scheduler scheduler(one_host(4));
    scheduler.add(request(0, 1, 10), 0);
    REQUIRE(ids(scheduler.next(0)) == Ids{0});
    scheduler.add(request(1, 4, 10, 5), 1);
    scheduler.add(request(2, 1, 20), 1);
    CHECK(scheduler.next(1).empty());
    scheduler.add(request(3, 1, 8), 1);  // ends before task 0 does
    CHECK(ids(scheduler.next(1)) == Ids{3});
    scheduler.finish(3, 8);
    scheduler.finish(0, 10);
    CHECK(ids(scheduler.next(10)) == Ids{1});
}

TEST_CASE("one of the same priority is overtaken until it is overdue") {
    SchedulerOptions options;
    options.age_limit_s = 5;
    Scheduler scheduler(one_host(2), options);
    TaskId task = 0;
    const auto add = [&](double now_s) { scheduler.add(request(task++, 1), now_s); };
    add(0);
    add(0);
    REQUIRE(scheduler.next(0).size() == 2);
    scheduler.add(request(1000, 2), 0.5);
    int turns = 0;
    for (double now = 1; now < 50; ++now, ++turns) {  // one of two ranks ends at a time
        add(now);
        scheduler.finish(task - 3, unknown_s);
        const Ids started = ids(scheduler.next(now));
        if (started.empty()) {
            break;
        }
        CHECK(started == Ids{task - 1});
    }
    CHECK(turns == 5);
    scheduler.finish(task - 2, unknown_s);
    CHECK(ids(scheduler.next(7)) == Ids{1000});
}

TEST_CASE("short tasks pass a wide one that waits for a task of unknown length") {
    Scheduler scheduler(one_host(3));
    const auto kind = [](Request made, std::uint32_t kind) {
        made.kind = kind;
        return made;
    };
    scheduler.add(request(1, 1, 0.1), 0);
    scheduler.next(0);
    scheduler.finish(1, 0.1);
    scheduler.add(kind(request(2, 1), 1), 1);  // of unknown length
    REQUIRE(ids(scheduler.next(1)) == Ids{2});
    scheduler.add(kind(request(3, 3, 1), 2), 1);
    CHECK(scheduler.next(1).empty());
    for (TaskId task = 4; task < 40; ++task) {  // the wide one is overdue by now
        const double now_s = 10 + static_cast<double>(task);
        scheduler.add(request(task, 1, 0.1), now_s);
        REQUIRE(ids(scheduler.next(now_s)) == Ids{task});
        if (task < 39) {
            scheduler.finish(task, 0.1);
        }
    }
    scheduler.add(kind(request(40, 1), 3), 49);  // of unknown length, too, and so it has to wait
    scheduler.add(request(41, 1, 50), 49);
    CHECK(scheduler.next(49).empty());
    scheduler.finish(2, 48);
    scheduler.add(request(42, 1, 0.2), 49);  // would end later than the one that still runs
    CHECK(scheduler.next(49).empty());
    scheduler.finish(39, 0.1);
    CHECK(ids(scheduler.next(49.1)) == Ids{3});
}

TEST_CASE("of equal priority the longest comes first, as learned from its kind") {
    Scheduler scheduler(one_host(1));
    const auto add = [&](TaskId task, std::uint32_t kind) {
        Request made = request(task, 1);
        made.kind = kind;
        scheduler.add(made, 0);
    };
    add(0, 1);
    CHECK(ids(scheduler.next(0)) == Ids{0});
    scheduler.finish(0, 1);
    add(1, 2);
    CHECK(ids(scheduler.next(1)) == Ids{1});
    scheduler.finish(1, 10);
    add(2, 1);
    add(3, 2);
    CHECK(ids(scheduler.next(11)) == Ids{3});
}

TEST_CASE("a task that is exclusive has a host for itself") {
    Scheduler scheduler({0, 0, 1, 1});
    Request alone = request(0, 1);
    alone.needs.exclusive = true;
    scheduler.add(request(1, 3), 0);
    REQUIRE(scheduler.next(0).size() == 1);
    scheduler.add(alone, 0);
    CHECK(scheduler.next(0).empty());  // no host is idle
    scheduler.finish(1, 1);
    const auto starts = scheduler.next(1);
    REQUIRE(ids(starts) == Ids{0});
    CHECK(starts.front().ranks.size() == 1);
    scheduler.add(request(2, 3), 1);
    CHECK(scheduler.next(1).empty());
    scheduler.add(request(3, 2), 1);
    CHECK(ids(scheduler.next(1)) == Ids{3});  // on the other host
    scheduler.finish(0, 1);
    scheduler.finish(3, 1);
    CHECK(ids(scheduler.next(2)) == Ids{2});
    CHECK(scheduler.widest_host() == 2);
}

TEST_CASE("an exclusive task is not overtaken for ever") {
    SchedulerOptions options;
    options.age_limit_s = 5;
    Scheduler scheduler({0, 0, 1, 1}, options);
    TaskId next = 1;
    for (; next <= 4; ++next) {
        scheduler.add(request(next, 1), 0);
    }
    REQUIRE(scheduler.next(0).size() == 4);
    Request alone = request(0, 1);
    alone.needs.exclusive = true;
    scheduler.add(alone, 0);
    int ended = 0;
    for (double now = 1; now < 40; ++now) {  // one ends, another one comes
        scheduler.add(request(next++, 1), now);
        if (++ended < static_cast<int>(next)) {
            scheduler.finish(static_cast<TaskId>(ended), 1);
        }
        for (const Start& start : scheduler.next(now)) {
            if (start.task == 0) {
                CHECK(now >= 5);
                return;
            }
        }
    }
    FAIL("it did not start");
}

TEST_CASE("a task waits for what it needs of a host") {
    SchedulerOptions options;
    options.resources = {{"gpu", 2}, {"memory", 8e9}};
    Scheduler scheduler({0, 0, 0, 1, 1, 1}, options);
    Request wants = request(0, 1);
    wants.needs.amounts = {1, 0};
    for (wants.task = 0; wants.task < 6; ++wants.task) {
        scheduler.add(wants, 0);
    }
    const auto starts = scheduler.next(0);
    CHECK(ids(starts) == Ids{0, 1, 2, 3});  // two on each host
    int on_first_host = 0;
    for (const Start& start : starts) {
        on_first_host += start.ranks.front() < 3 ? 1 : 0;
    }
    CHECK(on_first_host == 2);
    Request memory = request(10, 1);
    memory.needs.amounts = {0, 8e9};
    scheduler.add(memory, 0);
    CHECK(ids(scheduler.next(0)) == Ids{10});
    scheduler.finish(2, 1);
    CHECK(ids(scheduler.next(0)) == Ids{4});
}

TEST_CASE("a moldable task shares the ranks with others that wait") {
    Scheduler scheduler(one_host(16));
    Request moldable = request(0, 1);
    moldable.widths = {2, 16, {2, 4, 8, 16}};
    scheduler.add(moldable, 0);
    CHECK(scheduler.next(0).front().ranks.size() == 16);
    scheduler.finish(0, 1);
    for (TaskId task = 1; task < 5; ++task) {
        moldable.task = task;
        scheduler.add(moldable, 0);
    }
    for (const Start& start : scheduler.next(1)) {
        CHECK(start.ranks.size() == 4);
    }
    CHECK(scheduler.waiting() == 0);
}

TEST_CASE("a strict wish waits for its place, and lets others pass") {
    Scheduler scheduler(one_host(2));
    Request first = request(0, 1);
    first.near = Near{1, false, true};
    scheduler.add(first, 0);
    CHECK(scheduler.next(0).front().ranks == std::vector<int>{1});
    first.task = 1;
    scheduler.add(first, 0);
    scheduler.add(request(2, 1), 0);
    CHECK(ids(scheduler.next(0)) == Ids{2});
    scheduler.finish(2, 1);
    CHECK(scheduler.next(1).empty());
    scheduler.finish(0, 1);
    CHECK(scheduler.next(1).front().ranks == std::vector<int>{1});
}

TEST_CASE("what has been removed does not start") {
    Scheduler scheduler(one_host(1));
    for (TaskId task = 0; task < 4; ++task) {
        scheduler.add(request(task, 1), 0);
    }
    scheduler.remove(0);
    scheduler.remove(2);
    CHECK(scheduler.waiting() == 2);
    CHECK(ids(scheduler.next(0)) == Ids{1});
    scheduler.finish(1, 1);
    CHECK(ids(scheduler.next(1)) == Ids{3});
    scheduler.finish(3, 1);
    CHECK(scheduler.waiting() == 0);
    CHECK(scheduler.next(2).empty());
}

TEST_CASE("a rank that is lost gets nothing, and what is too wide then is told") {
    Scheduler scheduler(one_host(2));
    scheduler.add(request(0, 2), 0);
    scheduler.add(request(1, 1), 0);
    CHECK(scheduler.retire(0) == Ids{0});
    CHECK(scheduler.next(0).front().ranks == std::vector<int>{1});
    CHECK_THROWS_WITH_AS(
        scheduler.add(request(2, 2), 0),
        "no team can be as wide as a task wants: got 2 ranks; allowed: 1 to 1 ranks "
        "of this pool that serve. Ask for fewer ranks, or start a larger pool",
        InvalidArgument);
}

TEST_CASE("what is to run on a lost rank alone is told, now and later") {
    Scheduler scheduler({0, 0, 1});
    const auto near = [](TaskId id, int rank, bool anywhere_on_host, bool strict) {
        Request wish = request(id, 1);
        wish.near = Near{rank, anywhere_on_host, strict};
        return wish;
    };
    Request wide = request(9, 3);
    wide.near = Near{0, true, true};
    CHECK_THROWS_AS(scheduler.add(wide, 0), InvalidArgument);
    scheduler.add(near(0, 0, false, true), 0);
    scheduler.add(near(1, 0, true, true), 0);
    scheduler.add(near(2, 0, false, false), 0);
    CHECK(scheduler.retire(0) == Ids{0});
    CHECK_THROWS_WITH_AS(scheduler.add(near(3, 0, false, true), 0),
                         "a task is to run strictly where there are not enough ranks: got 1 wanted "
                         "beside rank 0. Leave strict out, and it runs elsewhere",
                         PeerLost);
    CHECK(scheduler.retire(1) == Ids{1});
    CHECK(ids(scheduler.next(0)) == Ids{2});
}

TEST_CASE("a million tasks may wait") {
    Scheduler scheduler(one_host(4));
    for (TaskId task = 0; task < 1'000'000; ++task) {
        scheduler.add(request(task, 1 + static_cast<int>(task % 2)), 0);
        for (const Start& start : scheduler.next(0)) {
            if (start.task % 3 == 0) {
                scheduler.finish(start.task, 1);
            }
        }
    }
    CHECK(scheduler.waiting() + scheduler.running() > 900'000);
}
