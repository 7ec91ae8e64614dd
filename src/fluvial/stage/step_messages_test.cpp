// SPDX-License-Identifier: Apache-2.0
/// Both sides of the messages of steps: StepMessages, StepMessageReader.
#include "fluvial/stage/step_messages.hpp"

#include <cstring>
#include <functional>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/stage/mutation_fixture.hpp"
#include "fluvial/stage/step_message_reader.hpp"
#include "fluvial/stage/written_steps_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const TestSeed seed(40490);
constexpr Index small = 10, large = 100'000;  // numbers of 8 bytes

/// A writer rank whose steps one reader elsewhere takes.
struct Writing : WrittenSteps {
    explicit Writing(bool lends = false)
        : WrittenSteps(WriterOptions{.queue_steps = 16, .queue_bytes = 1 << 26}),
          cell(stream.join().front()) {
        memory.control = &stream.control;
        memory.log = nullptr;
        memory.arenas.push_back(arena.file().map(host::Access::ReadOnly));
        messages.emplace(memory, lends);
    }
    Taken taken() {
        Taken found = take(stream.control, cell, nullptr);
        REQUIRE(found.any());
        return found;
    }
    static StepMessage sent(const StepMessages::Message& message) {
        std::size_t bytes = 0;
        for (const move::PackedBytes& part : message.behind) {
            bytes += part.bytes.size();
        }
        const std::shared_ptr<std::byte[]> behind(new std::byte[bytes + 1]);
        std::size_t at = 0;
        for (const move::PackedBytes& part : message.behind) {
            std::memcpy(behind.get() + at, part.bytes.data(), part.bytes.size());
            at += part.bytes.size();
        }
        CHECK(StepMessage::bytes_behind_of(message.bytes) == bytes);
        return {message.bytes, {behind, behind.get()}, bytes};
    }
    StepMessage send() { return sent(messages->message_of(taken(), next++, {})); }
    StepMessageReader reader() const {
        StepMessageReader made;
        made.add_rank(0, arena.file().size());
        return made;
    }

    int cell;
    StreamMemory memory{};
    std::optional<StepMessages> messages;
    std::uint64_t next = 0;
};

void check(const AnnouncedStep& step, double index, const std::vector<std::string>& names,
           bool whole) {
    CHECK(step.description.attributes == Attributes{{"time", index}});
    CHECK(step.whole == whole);
    REQUIRE(step.description.datasets.size() == names.size());
    for (const std::string& name : names) {
        const DatasetDescription& dataset = step.description.datasets.at(name);
        CHECK(dataset.attributes == Attributes{{"of", name}});
        REQUIRE(dataset.chunks.size() == 1);
        const auto* values = reinterpret_cast<const double*>(dataset.chunks[0].here());
        CHECK((values != nullptr) == whole);
        if (whole) {
            CHECK(values[0] == index);
            CHECK(values[dataset.chunks[0].region.volume() - 1] == index);
        }
    }
}

/// As RemoteSession does: the step is given back, the next one is tried.
void fail(Writing& writing, const std::function<void()>& attempt) {
    CHECK_THROWS_AS(attempt(), Error);
    ++writing.next;
}

}  // namespace

TEST_CASE("steps of any size and layout arrive as they were written") {
    Writing writing;
    StepMessageReader reader = writing.reader();
    const std::vector<std::string> one = {"x"}, two = {"x", "y"};
    const auto check_next = [&](const std::vector<std::string>& names, Index count) {
        writing.write(names, count);
        check(reader.read(writing.send()), static_cast<double>(writing.steps - 1), names,
              count == small);
    };
    for (const Index count : {small, large}) {
        check_next(one, count);
        check_next(one, count);
        check_next(two, count);
        check_next(two, count);
        check_next(one, count);
    }
}

TEST_CASE("a layout that repeats is not sent again") {
    Writing writing;
    writing.write({"x", "y", "z"}, large);
    writing.write({"x", "y", "z"}, large);
    const std::size_t first = writing.send().bytes.size();
    CHECK(writing.send().bytes.size() < first / 2);
}

TEST_CASE("parts that the reader wants come along") {
    Writing writing;
    StepMessageReader reader = writing.reader();
    writing.messages->want({{0, {{0}, {large}}, {{100}, {50'000}}}});
    writing.write({"x"}, large);
    const AnnouncedStep step = reader.read(writing.send());
    REQUIRE(step.parts.size() == 1);
    CHECK(step.parts[0].box == Region{{100}, {50'000}});
    CHECK(step.parts[0].chunk == &step.description.datasets.at("x").chunks[0]);
    CHECK(reinterpret_cast<const double*>(step.parts[0].bytes.get())[49'999] == 0);
}

TEST_CASE("what is lent lies in the memory of the stream, and arrives as what is copied") {
    constexpr Index middling = 3'001;
    for (const bool lends : {false, true}) {
        CAPTURE(lends);
        Writing writing(lends);
        StepMessageReader reader = writing.reader();
        for (const auto& names : {std::vector<std::string>{"x"}, {"x", "y"}}) {
            writing.write(names, middling);
            const StepMessages::Message message =
                writing.messages->message_of(writing.taken(), writing.next++, {});
            CHECK(message.complete);
            CHECK(message.borrows == lends);
            const StepMessage sent = Writing::sent(message);
            check(reader.read({sent.bytes, sent.behind, sent.bytes_behind}),
                  static_cast<double>(writing.steps - 1), names, true);
        }
    }
}

TEST_CASE("what ranks have in common lies apart where it is long, and is the same for them") {
    Writing writing;
    StepMessages other(writing.memory, false);
    writing.messages->share();
    other.share();
    StepMessageReader reader = writing.reader();
    std::vector<std::string> many;
    for (int number = 0; number < 4000; ++number) {
        many.push_back(text("field", number));
    }
    for (const auto& names : {many, many, {"x"}, many}) {
        writing.write(names, 2);
        const Taken taken = writing.taken();
        const StepMessages::Message message =
            writing.messages->message_of(taken, writing.next++, {});
        StepMessage sent = Writing::sent(message);
        const auto at = sent.to_fetch();
        REQUIRE(at.has_value() == (names.size() > 1));
        if (at) {
            CHECK(sent.bytes.size() < 1000);
            CHECK_FALSE(message.complete);
            CHECK(other.message_of(taken, writing.next - 1, {}).common_at.hash == at->hash);
            CHECK_THROWS_AS(writing.reader().read(sent), Error);  // not fetched
            sent.common = {message.common, message.common->data()};
            sent.common_bytes = at->bytes;
        } else {
            other.message_of(taken, writing.next - 1, {});
        }
        check(reader.read(std::move(sent)), static_cast<double>(writing.steps - 1), names, true);
    }
}

TEST_CASE("a message is complete when the parts that come along are all there is") {
    Writing writing;
    const auto sent_complete = [&](const std::vector<PartAlong>& wanted) {
        writing.messages->want(wanted);
        writing.write({"x", "y"}, large);
        const StepMessages::Message message =
            writing.messages->message_of(writing.taken(), writing.next++, {});
        CHECK(message.borrows == !wanted.empty());
        return message.complete;
    };
    const PartAlong x{0, {{0}, {large}}, {{0}, {large}}}, y{1, {{0}, {large}}, {{0}, {large}}};
    CHECK(sent_complete({x, y}));
    CHECK_FALSE(sent_complete({}));
    CHECK_FALSE(sent_complete({y}));
    CHECK_FALSE(sent_complete({x, {1, {{0}, {large}}, {{0}, {large - 1}}}}));
}

TEST_CASE("what a message that failed should have said, later ones say: definitions and layout") {
    for (const Index count : {small, large}) {
        for (const bool first : {true, false}) {
            CAPTURE(count);
            CAPTURE(first);
            Writing writing;
            StepMessageReader reader = writing.reader();
            std::vector<std::string> names = {"x"};
            if (!first) {  // the reader knows a layout, and so does the writer's side
                writing.write(names, count);
                reader.read(writing.send());
                names.emplace_back("y");
            }
            writing.write(names, count);
            const Taken damaged = writing.taken();
            RecordPlace& place = writing.stream.control.record(damaged.slot, 0);
            const RecordPlace good = place;
            place.offset = writing.arena.file().size();
            fail(writing, [&] { writing.messages->message_of(damaged, writing.next, {}); });
            place = good;
            names.emplace_back("z");  // of this step, too, something is new
            for (int more = 0; more < 2; ++more) {
                writing.write(names, count);
                check(reader.read(writing.send()), static_cast<double>(writing.steps - 1), names,
                      count == small);
            }
        }
    }
}

TEST_CASE("a message that failed in the middle of its records leaves the layouts to be sent") {
    // The first rank's record is good, the second's is not: the layout of the first, which the
    // reader never got, must not count as known.
    Stream stream(WriterOptions{.queue_steps = 8, .queue_bytes = 1 << 20}, 2);
    std::vector<Arena> arenas;
    std::vector<RecordWriter> writers;
    arenas.reserve(2);
    StreamMemory memory{&stream.control, nullptr, {}, false};
    for (int rank = 0; rank < 2; ++rank) {
        arenas.emplace_back("test", 1 << 20, 1 << 20);
        memory.arenas.push_back(arenas.back().file().map(host::Access::ReadOnly));
        writers.emplace_back(arenas.back(), stream.control.writer(rank));
    }
    StepMessages messages(memory, false);
    StepMessageReader reader;
    reader.add_rank(0, arenas[0].file().size());
    reader.add_rank(1, arenas[1].file().size());
    const int cell = stream.join().front();
    const auto taken_of = [&](std::uint64_t step) {
        for (int rank = 0; rank < 2; ++rank) {
            const auto admission = admit(stream.control, step);
            writers[static_cast<std::size_t>(rank)].begin({});
            writers[static_cast<std::size_t>(rank)].add(
                "x", DType::Int8, {2}, {}, {{rank}, {1}},
                arenas[static_cast<std::size_t>(rank)].allocate(1));
            finish_writing(stream.control, admission->slot, rank,
                           writers[static_cast<std::size_t>(rank)].finish(), false);
        }
        return take(stream.control, cell, nullptr);
    };
    const Taken damaged = taken_of(0);
    stream.control.record(damaged.slot, 1).offset = arenas[1].file().size();
    CHECK_THROWS_AS(messages.message_of(damaged, 0, {}), Error);
    const AnnouncedStep step = reader.read(Writing::sent(messages.message_of(taken_of(1), 1, {})));
    CHECK(step.description.datasets.at("x").chunks.size() == 2);
}

TEST_CASE("messages of steps, changed at random, are read or refused, and never beyond their end") {
    std::mt19937 random(seed);
    Writing writing;
    std::vector<StepMessage> good;
    for (const Index count : {small, small, large}) {
        writing.write({"x", "y"}, count);
        good.push_back(writing.send());
    }
    writing.messages->want({{0, {{0}, {large}}, {{0}, {300}}}, {1, {{0}, {large}}, {{0}, {900}}}});
    writing.write({"x", "y"}, large);
    good.push_back(writing.send());
    int refused = 0;
    constexpr int rounds = 10'000;
    for (int round = 0; round < rounds; ++round) {
        StepMessageReader reader = writing.reader();
        const std::size_t which = random() % good.size();
        for (std::size_t before = 0; before < which; ++before) {
            reader.read(good[before]);
        }
        StepMessage message = good[which];
        message.bytes = mutated(message.bytes, random);
        // What lies behind is as much as the message says, as on the wire.
        const std::byte *begin = nullptr, *end = nullptr;
        const auto inside = [&](const std::byte* from, std::uint64_t bytes) {
            const auto within = [&](const std::byte* first, std::size_t size) {
                return from >= first && bytes <= size && from + bytes <= first + size;
            };
            return bytes == 0 || within(begin, static_cast<std::size_t>(end - begin)) ||
                   within(message.behind.get(), message.bytes_behind);
        };
        try {
            const AnnouncedStep step = reader.read(message);
            begin = step.message->bytes.data();
            end = begin + step.message->bytes.size();
            for (const auto& [name, dataset] : step.description.datasets) {
                for (const Chunk& chunk : dataset.chunks) {
                    if (chunk.here() != nullptr) {
                        REQUIRE(
                            inside(chunk.here(), static_cast<std::uint64_t>(chunk.region.volume()) *
                                                     size_of(dataset.dtype)));
                    }
                }
            }
            for (const AnnouncedStep::Part& part : step.parts) {
                REQUIRE(contains(whole(part.chunk->region.extent), part.box));
                REQUIRE(inside(part.bytes.get(), static_cast<std::uint64_t>(part.box.volume())));
            }
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(refused > rounds / 10);
    CHECK(refused < rounds);
}
