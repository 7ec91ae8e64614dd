// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/membership.hpp"

#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stage/stream_end.hpp"
#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

using Alive = std::optional<host::AliveLock>;

Alive alive(const Stream& s, int cell) {
    s.control.reader(cell).beat_ns.store(now_ns());
    return std::make_optional<host::AliveLock>(s.control.file(), s.control.reader_lock(cell));
}

Alive writer_alive(const Stream& s, int rank) {
    WriterCell& cell = s.control.writer(rank);
    cell.state = MemberState::Active;
    cell.pid = 77;
    cell.beat_ns.store(now_ns());
    return std::make_optional<host::AliveLock>(s.control.file(), s.control.writer_lock(rank));
}

void fall_silent(const Stream& s, int cell, double seconds) {
    s.control.reader(cell).beat_ns.store(now_ns() - static_cast<std::int64_t>(seconds * 1e9));
}

std::string failure_of(const Stream& s) {
    return s.control.header().failure.set != 0 ? s.control.header().failure.message : "";
}

}  // namespace

TEST_CASE("a reader that leaves gives its steps up; the others keep theirs") {
    Stream s({.queue_steps = 4});
    const int a = s.join()[0];
    const int b = s.join()[0];
    for (std::uint64_t step = 0; step < 4; ++step) {
        s.write(step);
    }
    CHECK(s.read(b) == 0u);
    leave(s.control, a);
    vacate(s.control, a);
    CHECK(queue_depth(s.control) == 3);
    CHECK(s.read(b) == 1u);
    leave(s.control, b);
    vacate(s.control, b);
    CHECK(queue_depth(s.control) == 2);  // 2 and 3, which no reader has begun, wait for a late one
    CHECK(active_groups(s.control) == 0);
    CHECK(s.counters().groups_lost == 0);
}

TEST_CASE("a reader that comes where another has left gets the steps that the other has had") {
    Stream s({.queue_steps = 2});
    const int slow = s.join()[0];
    const int gone = s.join()[0];
    s.write(0);
    s.write(1);
    CHECK(s.read(gone) == 0u);
    const int open = take(s.control, gone);
    CHECK(s.step_in(open) == 1u);
    leave(s.control, gone);
    vacate(s.control, gone);
    const int next = s.join()[0];
    CHECK(s.read(next) == 0u);
    CHECK(s.read(next) == 1u);
    CHECK(s.read(slow) == 0u);
    CHECK(s.read(slow) == 1u);
    CHECK(s.write(2));
    CHECK(s.read(next) == 2u);
}

TEST_CASE(
    "ranks of one reader leave one after the other: what the first has begun, the second may "
    "finish") {
    Stream s({.queue_steps = 8});
    const auto ranks = s.join(2);
    for (std::uint64_t step = 0; step < 4; ++step) {
        s.write(step);
    }
    CHECK(s.read(ranks[0]) == 0u);
    CHECK(s.read(ranks[0]) == 1u);
    leave(s.control, ranks[0]);
    vacate(s.control, ranks[0]);
    CHECK(s.read(ranks[1]) == 0u);
    CHECK(s.read(ranks[1]) == 1u);
    CHECK(s.read(ranks[1]) == std::nullopt);  // no rank had begun 2
    CHECK(std::string(s.group_of(ranks[1]).departed) ==
          "rank 0 of this reader has left the stream");
    CHECK(queue_depth(s.control) == 2);  // 2 and 3 wait for a late reader
    s.write(4);
    CHECK(s.read(ranks[1]) == std::nullopt);
}

TEST_CASE("the slow rank leaves first: the steps that it did not read do not stay in the queue") {
    Stream s({.queue_steps = 8});
    const auto ranks = s.join(2);
    for (std::uint64_t step = 0; step < 4; ++step) {
        s.write(step);
    }
    CHECK(s.read(ranks[0]) == 0u);
    const int open = take(s.control, ranks[0]);
    leave(s.control, ranks[1]);
    vacate(s.control, ranks[1]);
    CHECK(queue_depth(s.control) ==
          3);  // 1, that rank 0 is reading; 2 and 3 wait for a late reader
    finish_reading(s.control, ranks[0], open);
    release_lease(s.control, ranks[0], open);
    CHECK(queue_depth(s.control) == 2);
    leave(s.control, ranks[0]);
    vacate(s.control, ranks[0]);
    CHECK(s.control.group(0).state == GroupState::Free);
}

TEST_CASE("a reader that has left keeps its views; its cell is free when the last is gone") {
    Stream s({.queue_steps = 1});
    const int reader = s.join()[0];
    const Alive lock = alive(s, reader);
    s.write(0);
    const int slot = take(s.control, reader);
    finish_reading(s.control, reader, slot);
    leave(s.control, reader);
    reap(s.control);
    CHECK(s.control.reader(reader).state == MemberState::Left);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Complete);
    CHECK(s.join()[0] != reader);
    vacate(s.control, reader);
    CHECK(s.control.slots()[slot].state.load() == SlotState::Free);
    CHECK(s.control.reader(reader).state == MemberState::Free);
}

TEST_CASE("a dead reader loses its leases, its group is broken, and the writer goes on") {
    Stream s({.queue_steps = 2});
    const auto ranks = s.join(2);
    const Alive first = alive(s, ranks[0]);
    Alive second = alive(s, ranks[1]);
    s.write(0);
    s.write(1);
    const int held = take(s.control, ranks[0]);
    take(s.control, ranks[1]);
    reap(s.control);
    CHECK(active_groups(s.control) == 1);
    second.reset();  // killed
    reap(s.control);
    CHECK(active_groups(s.control) == 0);
    CHECK(s.counters().groups_lost == 1);
    CHECK(s.control.reader(ranks[1]).state == MemberState::Free);
    CHECK(std::string(s.group_of(ranks[0]).departed) ==
          "rank 1 of this reader (process 1001) died");
    CHECK(queue_depth(s.control) ==
          1);  // 1 waits for a late reader, and makes room when the writer needs it
    CHECK(s.control.slots()[held].state.load() == SlotState::Complete);  // the survivor's view
    CHECK(s.read(ranks[0]) == std::nullopt);
    CHECK(s.write(2));
    CHECK(s.write(3));
    CHECK(s.write(4));
    reap(s.control);
    CHECK(s.counters().groups_lost == 1);  // counted once
}

TEST_CASE("one that dies while it joins is noticed after a while, and its place is free again") {
    Stream s({.queue_steps = 2});
    const int group = open_group(s.control, 1, Start::Oldest);
    const int cell = open_reader(s.control, group, 0, 42);
    s.write(0);
    reap(s.control);
    CHECK(s.control.reader(cell).state == MemberState::Joining);  // it may just be slow
    s.control.reader(cell).joined_ns -= 6'000'000'000;
    reap(s.control);
    CHECK(s.control.reader(cell).state == MemberState::Free);
    CHECK(s.control.group(group).state == GroupState::Free);
    s.write(1);
    CHECK(s.write(2));
}

TEST_CASE(
    "a silent reader is evicted after the stall time; what it views is set aside, not waited for") {
    Stream s({.queue_steps = 2, .queue_bytes = 100, .stall_timeout_s = 1});
    const int reader = s.join()[0];
    const Alive lock = alive(s, reader);
    s.write(0, 60);
    s.write(1, 10);
    const int held = take(s.control, reader);
    fall_silent(s, reader, 0.5);
    reap(s.control);
    CHECK(active_groups(s.control) == 1);
    fall_silent(s, reader, 1.5);
    reap(s.control);
    CHECK(active_groups(s.control) == 0);
    CHECK(s.counters().groups_evicted == 1);
    const std::string why = s.group_of(reader).departed;
    CHECK(why.find("rank 0 (process 1000) gave no heartbeat for 1.5") != std::string::npos);
    CHECK(why.find("stall_timeout=1 s") != std::string::npos);
    CHECK(queue_depth(s.control) ==
          1);  // 1 waits for a late reader, and makes room when the writer needs it
    CHECK(bytes_in_use(s.control) == 10);
    CHECK(s.write(2, 90));  // its memory stands beside the limit
    CHECK(s.control.slots()[held].state.load() == SlotState::Complete);
    CHECK(s.step_in(held) == 0);
    CHECK(take(s.control, reader) == -1);
    finish_reading(s.control, reader, held);
    release_lease(s.control, reader, held);
    CHECK(s.control.slots()[held].state.load() == SlotState::Free);
    reap(s.control);
    CHECK(s.counters().groups_evicted == 1);
}

TEST_CASE("a job of which a rank falls silent while it opens loses its place, too") {
    Stream s({.queue_steps = 2, .stall_timeout_s = 0.2});
    const int group = open_group(s.control, 2, {Start::Oldest, 0});
    const int cell = open_reader(s.control, group, 0, 1000);
    const Alive first = alive(s, cell);
    activate_reader(s.control, cell);
    s.write(0);
    s.write(1);
    reap(s.control);
    CHECK_FALSE(admit(s.control, 2).has_value());  // of the job, whose other rank may come
    CHECK(describe_holders(s.control).find("2 ranks, of which 1 have come so far) waits for") !=
          std::string::npos);
    fall_silent(s, cell, 60);
    reap(s.control);
    CHECK(s.group_of(cell).state == GroupState::Evicted);
    CHECK(s.counters().groups_evicted == 1);
    CHECK(s.write(2));
    // The other rank comes after all: it learns that the job has no place any more.
    const int late = open_reader(s.control, group, 1, 1001);
    const Alive second = alive(s, late);
    activate_reader(s.control, late);
    CHECK(s.group_of(cell).state == GroupState::Evicted);
    CHECK_THROWS_AS(at_end(s.control, late, 10), PeerStalled);
}

TEST_CASE("a silent reader that the writer is to wait for keeps its place") {
    Stream s({.queue_steps = 1, .on_stalled_reader = StalledPolicy::Wait, .stall_timeout_s = 1});
    const int reader = s.join()[0];
    const Alive lock = alive(s, reader);
    s.write(0);
    fall_silent(s, reader, 5);
    reap(s.control);
    CHECK(active_groups(s.control) == 1);
    CHECK_FALSE(admit(s.control, 1).has_value());
}

TEST_CASE("a dead writer rank fails the stream, with its number and what it had finished") {
    Stream s({.queue_steps = 4}, 3);
    Alive locks[] = {writer_alive(s, 0), writer_alive(s, 1), writer_alive(s, 2)};
    s.write(0);
    reap(s.control);
    CHECK(failure_of(s).empty());
    locks[1].reset();
    reap(s.control);
    CHECK(failure_of(s) ==
          "rank 1 of 3 of the writer of 'test' (process 77) died after finishing 1 steps");
    locks[2].reset();
    reap(s.control);
    CHECK(failure_of(s).find("rank 1") == 0);  // the first failure is kept
    CHECK(std::string(s.control.header().failure.kind) == "PeerLost");
}

TEST_CASE("a stopped writer rank is named with the time of its silence") {
    Stream s({.queue_steps = 4}, 2);
    const Alive locks[] = {writer_alive(s, 0), writer_alive(s, 1)};
    CHECK(stalled_writer(s.control, 1).empty());
    s.control.writer(1).beat_ns.store(now_ns() - 3'000'000'000);
    CHECK(stalled_writer(s.control, 1)
              .find("rank 1 of the writer of 'test' (process 77) has given no heartbeat for 3") ==
          0);
    CHECK(stalled_writer(s.control, 10).empty());
    s.control.writer(1).state = MemberState::Left;
    CHECK(stalled_writer(s.control, 1).empty());
}

TEST_CASE("a rank that closes while others have begun a further step fails the stream") {
    Stream s({.queue_steps = 4}, 2);
    s.write(0);
    admit(s.control, 1);
    close_writer(s.control, 1);
    CHECK(failure_of(s).find("rank 1 of the writer of 'test' closed the stream after 1 steps while "
                             "other ranks had begun step 1") == 0);

    Stream later({.queue_steps = 4}, 2);  // the others begin the step only afterwards
    later.write(0);
    close_writer(later.control, 1);
    CHECK(failure_of(later).empty());
    expect_all_writers(later.control, 0);
    CHECK(failure_of(later).empty());
    expect_all_writers(later.control, 1);
    CHECK(failure_of(later).find(
              "rank 1 of the writer of 'test' closed the stream after 1 steps") == 0);

    Stream orderly({.queue_steps = 4}, 2);
    orderly.write(0);
    close_writer(orderly.control, 0);
    close_writer(orderly.control, 1);
    CHECK(failure_of(orderly).empty());
    CHECK(orderly.control.header().writers_closed == 2);
}

TEST_CASE("more readers than there are places are refused, and places come back") {
    Stream s({.queue_steps = 4});
    std::vector<int> cells;
    for (int i = 0; i < groups_max; ++i) {
        cells.push_back(s.join()[0]);
    }
    CHECK_THROWS_WITH_AS(open_group(s.control, 1, Start::Oldest), doctest::Contains("32 at a time"),
                         Error);
    leave(s.control, cells[5]);
    vacate(s.control, cells[5]);
    CHECK(s.join()[0] == cells[5]);
}

TEST_CASE("a long reason is cut, not written beyond its place") {
    Stream s({.queue_steps = 4});
    fail(s.control, std::string(100, 'k'), std::string(5000, 'm'));
    CHECK(std::string(s.control.header().failure.kind).size() == 31);
    CHECK(std::string(s.control.header().failure.message).size() == 599);
}
