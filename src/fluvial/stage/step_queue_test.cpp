// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/step_queue.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

TEST_CASE("steps are read in order, each once by each reader, and leave the queue then") {
    Stream s({.queue_steps = 4});
    const int a = s.join()[0];
    const int b = s.join()[0];
    for (std::uint64_t step = 0; step < 3; ++step) {
        CHECK(s.write(step));
    }
    CHECK(queue_depth(s.control) == 3);
    for (std::uint64_t step = 0; step < 3; ++step) {
        CHECK(s.read(a) == step);
    }
    CHECK(s.read(a) == std::nullopt);
    CHECK(queue_depth(s.control) == 3);  // b wants them still
    CHECK(s.read(b) == 0u);
    CHECK(queue_depth(s.control) == 2);
    CHECK(s.read(b) == 1u);
    CHECK(s.read(b) == 2u);
    CHECK(queue_depth(s.control) == 0);
    CHECK(s.counters().steps_completed == 3);
    CHECK(s.counters().steps_discarded == 0);
}

TEST_CASE("a step is available when the last writer rank has finished it") {
    Stream s({.queue_steps = 4}, 3);
    const int reader = s.join()[0];
    for (const int rank : {2, 0, 1}) {
        CHECK(s.read(reader) == std::nullopt);
        const auto admission = admit(s.control, 0);
        REQUIRE(admission.has_value());
        CHECK(finish_writing(s.control, admission->slot, rank, {}, false) == (rank == 1));
    }
    CHECK(s.read(reader) == 0u);
}

TEST_CASE("no reader sees a step that any rank gives up") {
    Stream s({.queue_steps = 2}, 2);
    const int reader = s.join()[0];
    const int slot = admit(s.control, 0)->slot;
    finish_writing(s.control, slot, 0, {}, true);
    finish_writing(s.control, slot, 1, {}, false);
    CHECK(s.read(reader) == std::nullopt);
    CHECK(s.counters().steps_spoiled == 1);
    CHECK(queue_depth(s.control) == 0);
    CHECK(s.write(1));
    CHECK(s.read(reader) == 1u);
}

TEST_CASE("block: a full queue admits nothing until the slowest reader has finished a step") {
    Stream s({.queue_steps = 2, .full = FullPolicy::Block});
    const int fast = s.join()[0];
    const int slow = s.join()[0];
    s.write(0);
    s.write(1);
    CHECK_FALSE(admit(s.control, 2).has_value());
    s.read(fast);
    CHECK_FALSE(admit(s.control, 2).has_value());
    const int slot = take(s.control, slow);  // begun is not finished
    CHECK_FALSE(admit(s.control, 2).has_value());
    finish_reading(s.control, slow, slot);
    CHECK(admit(s.control, 2)->accepted);
    CHECK(s.counters().steps_discarded == 0);
}

TEST_CASE(
    "discard-newest: the step that does not fit is not accepted, by any rank, and both sides "
    "know") {
    Stream s({.queue_steps = 2, .full = FullPolicy::DiscardNewest}, 2);
    const int reader = s.join()[0];
    CHECK(s.write(0));
    CHECK(s.write(1));
    CHECK_FALSE(s.write(2));
    CHECK_FALSE(s.write(3));
    CHECK(s.read(reader) == 0u);
    CHECK(s.write(4));
    CHECK(s.read(reader) == 1u);
    CHECK(s.read(reader) == 4u);
    CHECK(s.counters().steps_discarded == 2);
    CHECK(s.group_of(reader).steps_discarded == 2);
}

TEST_CASE(
    "discard-newest: a rank that comes when there is room again is told what the first was told") {
    Stream s({.queue_steps = 1, .full = FullPolicy::DiscardNewest}, 2);
    const int reader = s.join()[0];
    s.write(0);
    const auto first = admit(s.control, 1);
    CHECK_FALSE(first->accepted);
    CHECK(s.read(reader) == 0u);
    const auto second = admit(s.control, 1);
    CHECK(second->slot == first->slot);
    CHECK_FALSE(second->accepted);
    finish_writing(s.control, first->slot, 0, {}, false);
    CHECK_FALSE(finish_writing(s.control, second->slot, 1, {}, false));
    CHECK(s.read(reader) == std::nullopt);
}

TEST_CASE("discard-oldest: the oldest step that no reader has begun makes room") {
    Stream s({.queue_steps = 2, .full = FullPolicy::DiscardOldest});
    const int reader = s.join()[0];
    CHECK(s.write(0));
    CHECK(s.write(1));
    const int open = take(s.control, reader);
    CHECK(s.step_in(open) == 0);
    CHECK(s.write(2));  // 1 makes room, 0 is being read
    CHECK(s.write(3));
    CHECK(s.step_in(open) == 0);
    finish_reading(s.control, reader, open);
    release_lease(s.control, reader, open);
    CHECK(s.read(reader) == 3u);
    CHECK(s.counters().steps_discarded == 2);
    CHECK(s.group_of(reader).steps_discarded == 2);
}

TEST_CASE("discard-oldest: when every step is being read, the new one is given up") {
    Stream s({.queue_steps = 1, .full = FullPolicy::DiscardOldest});
    const int reader = s.join()[0];
    s.write(0);
    take(s.control, reader);
    CHECK_FALSE(s.write(1));
    CHECK(s.group_of(reader).steps_discarded == 1);
}

TEST_CASE(
    "discard-oldest: a step that one rank of a reader has begun is kept for its other ranks") {
    Stream s({.queue_steps = 2, .full = FullPolicy::DiscardOldest});
    const auto ranks = s.join(2);
    s.write(0);
    s.write(1);
    CHECK(s.read(ranks[0]) == 0u);
    CHECK(s.write(2));
    CHECK(s.write(3));
    CHECK(s.read(ranks[1]) == 0u);
    CHECK(s.read(ranks[0]) == 3u);
    CHECK(s.read(ranks[1]) == 3u);
}

TEST_CASE(
    "without readers the queue keeps the newest steps for one that comes, under each policy") {
    for (const auto full :
         {FullPolicy::Block, FullPolicy::DiscardNewest, FullPolicy::DiscardOldest}) {
        CAPTURE(static_cast<int>(full));
        Stream s({.queue_steps = 3, .full = full});
        for (std::uint64_t step = 0; step < 10; ++step) {
            CHECK(s.write(step));
        }
        CHECK(s.counters().steps_discarded == 0);
        CHECK(s.counters().steps_unread == 7);
        const int late = s.join(1, Start::Oldest)[0];
        const int later = s.join(1, Start::Next)[0];
        CHECK(s.read(later) == std::nullopt);
        CHECK(s.read(late) == 7u);
        CHECK(s.read(late) == 8u);
        CHECK(s.write(10));
        CHECK(s.read(later) == 10u);
        CHECK(s.read(late) == 9u);
        CHECK(s.read(late) == 10u);
    }
}

TEST_CASE(
    "next is the first step that completes after the joining, also when its ranks come one by "
    "one") {
    Stream s({.queue_steps = 8});
    s.write(0);
    const auto begun = admit(s.control, 1);
    const int group = open_group(s.control, 2, Start::Next);
    const int first = open_reader(s.control, group, 0, 1);
    activate_reader(s.control, first);
    finish_writing(s.control, begun->slot, 0, {}, false);
    CHECK(s.read(first) == std::nullopt);  // not all ranks are here
    const int second = open_reader(s.control, group, 1, 2);
    activate_reader(s.control, second);
    CHECK(s.read(second) == 1u);
    CHECK(s.read(first) == 1u);
    CHECK(s.counters().groups_joined == 1);
}

TEST_CASE("a view keeps the memory of its step, not its place in the queue") {
    Stream s({.queue_steps = 1, .queue_bytes = 100});
    const int reader = s.join()[0];
    s.write(0, 60);
    const int slot = take(s.control, reader);
    finish_reading(s.control, reader, slot);
    CHECK(queue_depth(s.control) == 0);
    CHECK(bytes_in_use(s.control) == 60);
    const auto next = admit(s.control, 1);
    REQUIRE(next->accepted);
    CHECK(next->slot != slot);
    CHECK(s.step_in(slot) == 0);
    CHECK(grant_bytes(s.control, next->slot, 60) == Grant::Wait);
    release_lease(s.control, reader, slot);
    CHECK(grant_bytes(s.control, next->slot, 60) == Grant::Given);
}

TEST_CASE("views that hold every slot make a blocking writer wait, and are named") {
    Stream s({.queue_steps = 1});
    const int reader = s.join()[0];
    std::uint64_t step = 0;
    std::vector<int> held;
    while (const auto admission = admit(s.control, step)) {
        REQUIRE(step < slots_max);
        finish_writing(s.control, admission->slot, 0, {}, false);
        held.push_back(take(s.control, reader));
        finish_reading(s.control, reader, held.back());
        ++step;
    }
    CHECK(held.size() == s.control.slots().size());
    CHECK(describe_holders(s.control).find(text("holds ", held.size(), " steps or views")) !=
          std::string::npos);
    release_lease(s.control, reader, held.front());
    CHECK(admit(s.control, step).has_value());
}

TEST_CASE("views that hold every slot never make a discarding writer wait") {
    for (const auto full : {FullPolicy::DiscardNewest, FullPolicy::DiscardOldest}) {
        Stream s({.queue_steps = 1, .full = full}, 2);
        const int reader = s.join()[0];
        std::uint64_t read = 0;
        for (std::uint64_t step = 0; step < 200; ++step) {
            s.write(step);
            const int slot = take(s.control, reader);
            if (slot >= 0) {
                ++read;
                finish_reading(s.control, reader, slot);
            }
        }
        CHECK(read + s.group_of(reader).steps_discarded == 200);
        CHECK(s.group_of(reader).steps_discarded == s.counters().steps_discarded);
    }
}

TEST_CASE("bytes: what is larger than the whole queue never fits; the rest waits for room") {
    Stream s({.queue_steps = 4, .queue_bytes = 100});
    const int reader = s.join()[0];
    const int slot = admit(s.control, 0)->slot;
    CHECK(grant_bytes(s.control, slot, 101) == Grant::NeverFits);
    CHECK(grant_bytes(s.control, slot, 100) == Grant::Given);
    CHECK(grant_bytes(s.control, slot, 1) == Grant::NeverFits);
    CHECK(grant_bytes(s.control, slot, 0) == Grant::Given);
    finish_writing(s.control, slot, 0, {}, false);
    const int next = admit(s.control, 1)->slot;
    CHECK(grant_bytes(s.control, next, 1) == Grant::Wait);
    CHECK(s.read(reader) == 0u);
    CHECK(grant_bytes(s.control, next, 1) == Grant::Given);
    CHECK(s.counters().bytes_staged == 101);
}

TEST_CASE("bytes: a policy that discards never waits, and both sides are told") {
    Stream newest({.queue_steps = 4, .queue_bytes = 100, .full = FullPolicy::DiscardNewest});
    const int a = newest.join()[0];
    CHECK(newest.write(0, 60));
    CHECK_FALSE(newest.write(1, 60));
    CHECK(newest.read(a) == 0u);
    CHECK(newest.read(a) == std::nullopt);
    CHECK(newest.write(2, 60));
    CHECK(newest.group_of(a).steps_discarded == 1);
    CHECK(newest.counters().steps_discarded == 1);

    Stream oldest({.queue_steps = 4, .queue_bytes = 100, .full = FullPolicy::DiscardOldest});
    const int b = oldest.join()[0];
    CHECK(oldest.write(0, 40));
    CHECK(oldest.write(1, 40));
    CHECK(oldest.write(2, 90));
    CHECK(oldest.read(b) == 2u);
    CHECK(oldest.group_of(b).steps_discarded == 2);
}

TEST_CASE(
    "bytes: ranks that run ahead do not keep the oldest unfinished step from being finished") {
    Stream s({.queue_steps = 4, .queue_bytes = 100}, 2);
    const int reader = s.join()[0];
    const int first = admit(s.control, 0)->slot;
    CHECK(grant_bytes(s.control, first, 10) == Grant::Given);  // rank 0
    finish_writing(s.control, first, 0, {}, false);
    const int second = admit(s.control, 1)->slot;
    CHECK(grant_bytes(s.control, second, 80) == Grant::Given);  // rank 0 runs ahead
    CHECK(grant_bytes(s.control, second, 20) == Grant::Wait);
    CHECK(grant_bytes(s.control, first, 90) ==
          Grant::Given);  // rank 1 must be able to finish step 0
    CHECK(bytes_in_use(s.control) <= 200);
    finish_writing(s.control, first, 1, {}, false);
    CHECK(s.read(reader) == 0u);
    CHECK(grant_bytes(s.control, second, 20) == Grant::Given);
}

TEST_CASE(
    "reserved: the newest steps stay for readers that come late, though others have had them") {
    Stream s({.queue_steps = 4, .reserve = 2});
    const int early = s.join()[0];
    for (std::uint64_t step = 0; step < 10; ++step) {
        CHECK(s.write(step));
        CHECK(s.read(early) == step);
        CHECK(queue_depth(s.control) == static_cast<int>(std::min<std::uint64_t>(step + 1, 2)));
    }
    const int late = s.join()[0];
    CHECK(s.read(late) == 8u);
    CHECK(s.read(late) == 9u);
    CHECK(s.read(late) == std::nullopt);
    CHECK(s.read(early) == std::nullopt);
    CHECK(s.write(10));
    CHECK(s.read(early) == 10u);
    CHECK(s.read(late) == 10u);
    CHECK(s.counters().steps_unread == 0);
    CHECK(s.counters().steps_discarded == 0);
}

TEST_CASE("reserved: steps give way when there is no room otherwise, so no writer waits for them") {
    Stream s({.queue_steps = 3, .reserve = 2, .queue_bytes = 100});
    const int reader = s.join()[0];
    CHECK(s.write(0, 50));
    CHECK(s.write(1, 50));
    CHECK(s.read(reader) == 0u);
    CHECK(s.read(reader) == 1u);
    CHECK(bytes_in_use(s.control) == 100);
    CHECK(s.write(2, 90));
    CHECK(s.write(3));
    CHECK(s.write(4));  // three that the reader has not had
    CHECK(admit(s.control, 5) == std::nullopt);
    CHECK(s.read(reader) == 2u);
    CHECK(s.read(reader) == 3u);
    CHECK(s.read(reader) == 4u);
    CHECK(s.counters().steps_unread == 0);
    const int late = s.join()[0];
    CHECK(s.read(late) == 3u);
}

TEST_CASE("what a rank takes back of what it said of datasets binds no other rank") {
    Stream s({.queue_steps = 2}, 2);
    const int slot = admit(s.control, 0)->slot;
    const auto say = [&](int rank, int dataset, DType dtype) {
        return check_signature(s.control, slot, rank, text("x", dataset), dtype, {10});
    };
    CHECK(say(0, 0, DType::Float64) != nullptr);
    CHECK(say(1, 0, DType::Float64) == nullptr);
    std::vector<Signature*> noted;
    constexpr int more = 100;  // many of which lie at the place of another
    for (int i = 1; i <= more; ++i) {
        noted.push_back(say(1, i, DType::Float64));
        REQUIRE(noted.back() != nullptr);
    }
    forget_signatures(noted);
    CHECK_THROWS_AS(say(1, 0, DType::Int8), InvalidArgument);  // which another rank had said
    for (int i = 1; i <= more; ++i) {
        CHECK(say(0, i, DType::Int8) != nullptr);
    }
}

TEST_CASE("ranks that disagree about a dataset are told what each rank said") {
    Stream s({.queue_steps = 2}, 2);
    const int slot = admit(s.control, 0)->slot;
    check_signature(s.control, slot, 0, "x", DType::Float64, {10, 3});
    CHECK_NOTHROW(check_signature(s.control, slot, 1, "x", DType::Float64, {10, 3}));
    CHECK_NOTHROW(check_signature(s.control, slot, 1, "y", DType::Int8, {7}));
    CHECK_THROWS_WITH_AS(check_signature(s.control, slot, 1, "x", DType::Float32, {10, 3}),
                         doctest::Contains("disagree about the dataset 'x': got float32"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(check_signature(s.control, slot, 1, "x", DType::Float64, {10, 4}),
                         doctest::Contains("(10, 3), as on rank 0"), InvalidArgument);
    // The next step may have another shape, in the same slot or in another.
    finish_writing(s.control, slot, 0, {}, false);
    finish_writing(s.control, slot, 1, {}, false);
    const int next = admit(s.control, 1)->slot;
    CHECK_NOTHROW(check_signature(s.control, next, 1, "x", DType::Float32, {5}));
}
