// SPDX-License-Identifier: Apache-2.0
/// Where a reading job begins that comes while steps are queued, and what of them it cannot get.
#include <doctest/doctest.h>

#include "fluvial/stage/stream_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// Three places, steps that do not fit are discarded; 0 has been read, 1 and 2 wait for `reader`,
/// and 3 has been discarded.
struct Gap {
    Gap()
        : stream({.queue_steps = 3, .full = FullPolicy::DiscardNewest}), reader(stream.join()[0]) {
        for (std::uint64_t step = 0; step < 3; ++step) {
            CHECK(stream.write(step));
        }
        CHECK_FALSE(stream.write(3));
        CHECK(stream.read(reader) == 0u);
    }
    Stream stream;
    int reader;
};

/// The next step of the reader is `step`, and of those before none is missing without being
/// counted.
void check_begins_with(Stream& stream, int reader, std::uint64_t step) {
    CHECK(stream.read(reader) == step);
    CHECK(stream.group_of(reader).steps_discarded == 0);
}

}  // namespace

TEST_CASE("a late reader begins where nothing is missing from there on") {
    Stream s({.queue_steps = 4});
    s.write(0);
    const int from_next = s.join(1, Start::Next)[0];
    s.write(1);
    CHECK(s.read(from_next) == 1u);  // and no other reader wanted it: it has left the queue
    const int late = s.join(1, Start::Oldest)[0];
    s.write(2);
    check_begins_with(s, late, 2);  // not 0, and then 2 without a word of 1
}

TEST_CASE("it does not begin before a step that was discarded") {
    Gap gap;
    const int late = gap.stream.join()[0];
    CHECK(gap.stream.write(4));
    check_begins_with(gap.stream, late, 4);
    CHECK(gap.stream.read(gap.reader) == 1u);
    CHECK(gap.stream.read(gap.reader) == 2u);
    CHECK(gap.stream.read(gap.reader) == 4u);
    CHECK(gap.stream.group_of(gap.reader).steps_discarded == 1);
}

TEST_CASE("nor before one that is being discarded when it comes") {
    Stream s({.queue_steps = 2, .full = FullPolicy::DiscardNewest});
    const int reader = s.join()[0];
    s.write(0);
    s.write(1);
    const auto open = admit(s.control, 2);
    REQUIRE_FALSE(open->accepted);
    const int late = s.join()[0];
    finish_writing(s.control, open->slot, 0, {}, false);
    CHECK(s.read(late) == std::nullopt);
    CHECK(s.read(reader) == 0u);
    CHECK(s.write(3));
    check_begins_with(s, late, 3);
}

TEST_CASE("nor before one that is given up in the middle, or because the disk is full") {
    Stream s({.queue_steps = 4, .queue_bytes = 100, .full = FullPolicy::DiscardNewest});
    const int reader = s.join()[0];
    CHECK(s.write(0, 60));
    SUBCASE("for its bytes") {
        CHECK_FALSE(s.write(1, 60));
    }
    SUBCASE("for the disk") {
        s.control.header().retains = 1;
        s.write(1);  // without a log, as if that had no room
        s.control.header().retains = 0;
        CHECK(s.counters().full_disks == 1);
    }
    CHECK(s.group_of(reader).steps_discarded == 1);
    const int late = s.join()[0];
    CHECK(s.write(2));
    check_begins_with(s, late, 2);
    CHECK(s.read(reader) == 0u);
}

TEST_CASE("nor with one that some ranks still write while others discard a later one") {
    for (const Start start : {Start::Oldest, Start::Next}) {
        Stream s({.queue_steps = 2, .full = FullPolicy::DiscardNewest}, 2);
        const int reader = s.join()[0];
        s.write(0);
        const int slow = admit(s.control, 1)->slot;
        finish_writing(s.control, slow, 0, {}, false);
        const auto fast = admit(s.control, 2);
        REQUIRE_FALSE(fast->accepted);
        finish_writing(s.control, fast->slot, 0, {}, false);
        const int late = s.join(1, start)[0];
        finish_writing(s.control, slow, 1, {}, false);
        finish_writing(s.control, fast->slot, 1, {}, false);
        CHECK(s.read(late) == std::nullopt);
        CHECK(s.read(reader) == 0u);
        CHECK(s.write(3));
        check_begins_with(s, late, 3);
        CHECK(s.read(reader) == 1u);
        CHECK(s.read(reader) == 3u);
    }
}

TEST_CASE("steps that no reader will see leave no gap, and those that are shared out wait") {
    SUBCASE("a step that its writer gave up") {
        Stream s({.queue_steps = 4});
        const int reader = s.join()[0];
        s.write(0);
        finish_writing(s.control, admit(s.control, 1)->slot, 0, {}, true);
        const int late = s.join()[0];
        check_begins_with(s, late, 0);
        CHECK(s.read(reader) == 0u);
    }
    SUBCASE("steps to one job each") {
        Stream s(
            {.queue_steps = 2, .full = FullPolicy::DiscardNewest, .steps_to = StepsTo::OnDemand});
        s.join();
        s.write(0);
        s.write(1);
        CHECK_FALSE(s.write(2));
        CHECK(s.read(s.join()[0]) == 0u);
    }
}
