// SPDX-License-Identifier: Apache-2.0
/// When the writer has the place of a step back that a reader elsewhere gets with all of its data.
#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/event.hpp"
#include "fluvial/move/connection_fixture.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/step_message_reader.hpp"
#include "fluvial/stage/written_steps_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr int places = 4;
constexpr Index count = 30'000;  // numbers of 8 bytes

/// A writer's host that serves readers elsewhere, in the process of the test.
struct Serving {
    explicit Serving(StepsTo to = StepsTo::All)
        : steps(WriterOptions{.queue_steps = places, .queue_bytes = 1 << 26, .steps_to = to}) {}
    move::SecureConnection connect() const {
        return connect_to(contact, 10, service.endpoints().at(0), Deadline(10));
    }
    AttachedMessage attach(move::SecureConnection& reader, const AttachRequest& request = {},
                           bool may_go_on = false) const {
        reader.post(encode(AttachMessage{request, 10, "test", "node17", may_go_on}));
        const Bytes reply = first_reply(reader, Deadline(10));
        ByteReader in(reply);
        REQUIRE(in.get<FromWriter>() == FromWriter::Attached);
        return decode_attached(in);
    }
    bool write(Index numbers) {
        const bool written = steps.write({"x"}, numbers);
        if (written) {
            bell.ring();
        }
        return written;
    }

    WrittenSteps steps;
    host::Event bell;
    Contact contact = new_contact();
    RemoteService service{contact.key,
                          {&steps.stream.control, nullptr, mapped(steps.arena), false},
                          {{"127.0.0.1"}, {"127.0.0.1"}},
                          {},
                          bell};
};

void say(move::SecureConnection& reader, FromReader what, int times = 1) {
    ByteWriter out;
    out.put(what);
    for (; times > 0; --times) {
        reader.post(out.view());
    }
    reader.flush();
}

/// A reader that gets steps with all of their data.
struct Served : Serving {
    explicit Served(bool may_go_on) : reader(connect()) {
        token = attach(reader, {}, may_go_on).token;
        REQUIRE(next_kind() == FromWriter::Joined);
        ByteWriter out;
        out.put(FromReader::Wants);
        put(out, {{0, {{0}, {count}}, {{0}, {count}}}});
        reader.post(out.view());
    }
    void ask(int times) { say(reader, FromReader::Next, times); }
    bool write() { return Serving::write(count); }
    Bytes next_message() { return move::next_message(reader, reader); }
    FromWriter next_kind() { return static_cast<FromWriter>(next_message().at(0)); }
    /// The message of a step has come: what is behind it.
    std::vector<double> data_of_next() {
        REQUIRE(next_kind() == FromWriter::Step);
        Bytes behind(count * sizeof(double));
        std::size_t have = 0;
        wait_until(
            [&] {
                have += reader.read_raw(std::span(behind).subspan(have));
                return have == behind.size();
            },
            Deadline(10), "no data");
        std::vector<double> values(count);
        std::memcpy(values.data(), behind.data(), behind.size());
        return values;
    }

    move::SecureConnection reader;
    Token token{};
};

}  // namespace

TEST_CASE(
    "the place of a step that comes complete is free once it is sent, and the step is right") {
    Served served(false);
    constexpr int steps = 60;
    served.ask(steps);
    int written = 0;
    for (int read = 0; read < steps; ++read) {
        // Until the network takes no more: then memory has been written again of steps that are on
        // their way.
        if (read % 20 == 0) {
            const Deadline a_while(0.2);
            while (!a_while.passed() && written < steps) {
                written += served.write() ? 1 : 0;
            }
            CHECK(written - read > places);
        }
        const std::vector<double> values = served.data_of_next();
        CHECK(std::all_of(values.begin(), values.end(), [&](double v) { return v == read; }));
        while (written == read + 1 && written < steps) {
            wait_until([&] { return served.write(); }, Deadline(10), "no place is free");
            ++written;
        }
    }
}

TEST_CASE(
    "what a writer that ends has sent comes, however late, though the reader says something") {
    constexpr int small_buffer = 4096;
    auto served = std::make_unique<Served>(false);
    move::SecureConnection reader = std::move(served->reader);
    ::setsockopt(reader.descriptor(), SOL_SOCKET, SO_RCVBUF, &small_buffer, sizeof small_buffer);
    say(reader, FromReader::Next, 2);
    REQUIRE(served->write());
    std::thread ending([&] {
        sleep_ns(200'000'000);  // by then the message has gone, as far as there is room for it
        served.reset();
    });
    // What comes to a connection that was closed ends it at once.
    sleep_ns(400'000'000);
    say(reader, FromReader::Beat);
    sleep_ns(100'000'000);
    CHECK(move::next_message(reader, reader).at(0) == std::byte(FromWriter::Step));
    Bytes behind(count * sizeof(double));
    std::size_t have = 0;
    const auto all = [&] {
        have += reader.read_raw(std::span(behind).subspan(have));
        return have == behind.size();
    };
    CHECK_NOTHROW(wait_until(all, Deadline(10), "not all data came"));
    CHECK(have == behind.size());
    ending.join();
}

TEST_CASE("a reader that may go on over another connection keeps the places of its steps") {
    Served served(true);
    served.ask(2 * places);
    for (int step = 0; step < places; ++step) {
        CHECK(served.write());
    }
    for (int step = 0; step < places; ++step) {
        served.data_of_next();
    }
    CHECK_FALSE(served.write());
    ByteWriter out;
    out.put(FromReader::Done);
    out.put(std::uint64_t{0});
    served.reader.post(out.view());
    served.reader.flush();
    wait_until([&] { return served.write(); }, Deadline(10), "no place is free");
}

TEST_CASE("a reader that said that it would not go on over another connection cannot") {
    for (const bool may_go_on : {false, true}) {
        CAPTURE(may_go_on);
        Served served(may_go_on);
        served.ask(1);
        served.write();
        served.data_of_next();
        move::SecureConnection other = served.connect();
        other.post(encode(GoesOnMessage{
            .token = served.token, .asked = 1, .came = 0, .holds = {}, .wanted = {}}));
        if (may_go_on) {
            CHECK(static_cast<FromWriter>(move::next_message(other, other).at(0)) ==
                  FromWriter::Joined);
        } else {
            CHECK_THROWS_AS(move::next_message(other, other), PeerLost);
        }
    }
}

TEST_CASE("a rank that leaves with a step in its hands takes none from the others of its job") {
    Serving serving;
    move::SecureConnection a = serving.connect(), b = serving.connect();
    AttachRequest rank;
    rank.size = 2;
    rank.group = -1;
    rank.group = serving.attach(a, rank).reply.group;
    rank.rank = 1;
    serving.attach(b, rank);
    say(a, FromReader::Next, 2);
    serving.write(count);       // comes without its data, and stays
    serving.write(count / 10);  // comes complete, and goes at once
    for (const FromWriter expected : {FromWriter::Joined, FromWriter::Step, FromWriter::Step}) {
        CHECK(static_cast<FromWriter>(move::next_message(a, a).at(0)) == expected);
    }
    say(a, FromReader::Leave);
    wait_until([&] { return serving.steps.stream.control.header().remote_readers == 1; },
               Deadline(10), "the rank is still there");
    say(b, FromReader::Next, 2);
    CHECK(static_cast<FromWriter>(move::next_message(b, b).at(0)) == FromWriter::Joined);
    CHECK(static_cast<FromWriter>(move::next_message(b, b).at(0)) == FromWriter::Step);
    CHECK(static_cast<FromWriter>(move::next_message(b, b).at(0)) == FromWriter::Step);
}

TEST_CASE("a step that was another job's before comes again over another connection, too") {
    Serving serving(StepsTo::OnDemand);
    Stream& stream = serving.steps.stream;
    const int other_job = stream.join()[0];
    move::SecureConnection first = serving.connect();
    const Token token = serving.attach(first, {}, true).token;
    REQUIRE(static_cast<FromWriter>(move::next_message(first, first).at(0)) == FromWriter::Joined);
    const auto next_step = [](move::SecureConnection& reader) {
        const Bytes message = move::next_message(reader, reader);
        REQUIRE(static_cast<FromWriter>(message.at(0)) == FromWriter::Step);
        return StepMessage{message, nullptr, 0}.step();
    };
    serving.write(10);
    serving.write(10);
    {
        const ControlLock lock(stream.control);
        CHECK(stream.step_in(take(stream.control, other_job)) == 0);
    }
    say(first, FromReader::Next);
    CHECK(next_step(first) == 1);
    {
        const ControlLock lock(stream.control);
        lose_reader(stream.control, other_job, "died");
    }
    say(first, FromReader::Next);
    wait_until([&] { return stream.control.reader(1).steps_taken == 2; }, Deadline(10),
               "the step was not handed out");
    // It is lost on its way: the reader has got one step, which it still holds.
    move::SecureConnection second = serving.connect();
    second.post(encode(GoesOnMessage{
        .token = token, .asked = 1, .came = 1, .holds = {1}, .given = {}, .wanted = {}}));
    CHECK(static_cast<FromWriter>(move::next_message(second, second).at(0)) == FromWriter::Joined);
    CHECK(next_step(second) == 0);
}

TEST_CASE("a reader that only looks on holds up no writer that ends, and then gets the end") {
    auto serving = std::make_unique<Serving>();
    move::SecureConnection onlooker = serving->connect();
    AttachRequest request;
    request.start = Start::Observe;
    serving->attach(onlooker, request);
    CHECK(static_cast<FromWriter>(move::next_message(onlooker, onlooker).at(0)) ==
          FromWriter::Joined);
    serving->write(count);
    say(onlooker, FromReader::Next);
    CHECK(static_cast<FromWriter>(move::next_message(onlooker, onlooker).at(0)) ==
          FromWriter::Step);
    serving->write(count);
    wait_until([&] { return serving->service.waits_for().empty(); }, Deadline(2),
               "a reader that looks on is waited for");
    serving.reset();
    CHECK(static_cast<FromWriter>(move::next_message(onlooker, onlooker).at(0)) == FromWriter::End);
}
