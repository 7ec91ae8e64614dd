// SPDX-License-Identifier: Apache-2.0
/// Reads of a seat elsewhere that are disturbed: by another way, by an end in the middle, by a
/// thread that leaves.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/host/event.hpp"
#include "fluvial/move/relay_fixture.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/remote_seat.hpp"
#include "fluvial/stage/remote_service.hpp"
#include "fluvial/stage/written_steps_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr Index count = 2'000'000;  // numbers of 8 bytes: more than comes with a step

/// A writer's host in the process of the test, with one step, and two ways to it.
struct Serving {
    Serving() {
        steps.write({"x"}, count);
        contact.endpoints = {first.endpoint(), second.endpoint()};
    }
    WrittenSteps steps{WriterOptions{.queue_steps = 4, .queue_bytes = 1 << 26}};
    host::Event bell;
    Contact contact = new_contact();
    RemoteService service{contact.key,
                          {&steps.stream.control, nullptr, mapped(steps.arena), false},
                          {{"127.0.0.1"}, {"127.0.0.1"}},
                          {},
                          bell};
    move::Relay first{service.endpoints().front()};
    move::Relay second{service.endpoints().front()};
};

ReaderOptions impatient() {
    ReaderOptions options;
    options.stall_timeout_s = 4;  // another way is tried after a quarter of that
    options.step_timeout_s = 10;
    return options;
}

/// A reader that has the step.
struct Reading {
    explicit Reading(const Contact& contact, const ReaderOptions& options = impatient())
        : seat(std::make_shared<RemoteSeat>("test", contact, AttachRequest{}, options,
                                            Deadline(10))) {
        seat->wait_for_others();
        HandleLock handle;
        HandleLock::Call call(handle, "a test");
        step = std::move(*seat->next(call, Deadline(10)));
    }
    /// All numbers: what is wrong with them, or the error.
    std::string read() const {
        const Chunk& chunk = step.description.datasets.at("x").chunks.front();
        std::vector<double> got(count, -1);
        try {
            step.access->read({{&chunk, {{0}, {count}}, reinterpret_cast<std::byte*>(got.data())}},
                              DType::Float64, "x");
        } catch (const Error& error) {
            return text(error.kind(), ": ", error.what());
        }
        const auto wrong = std::count_if(got.begin(), got.end(), [](double v) { return v != 0; });
        return wrong == 0 ? "" : text(wrong, " numbers are wrong");
    }

    std::shared_ptr<RemoteSeat> seat;
    OpenedStep step;
};

}  // namespace

TEST_CASE("reads that are under way begin again where a seat goes on by another way") {
    Serving serving;
    const Reading reading(serving.contact);
    constexpr int threads = 2;
    std::atomic<int> reads = 0;
    std::string said[threads];
    std::vector<std::thread> all;
    for (std::string& mine : said) {
        all.emplace_back([&] {
            while (mine.empty() && serving.second.came < 2) {  // the second is one for data
                mine = reading.read();
                ++reads;
            }
            mine += reading.read();
        });
    }
    wait_until([&] { return reads > threads; }, Deadline(20), "nothing was read");
    serving.first.holds_first = true;
    for (std::thread& one : all) {
        one.join();
    }
    for (const std::string& mine : said) {
        CHECK(mine.empty());
    }
}

TEST_CASE("after a read that ended in the middle the next one is right") {
    for (const std::int64_t came : {0, 1'000'000}) {
        CAPTURE(came);
        Serving serving;
        const Reading reading(serving.contact);
        CHECK(reading.read().empty());
        serving.first.left = came;
        {
            const progress::Lookout interrupted([](double) { throw TimedOut("interrupted"); });
            CHECK(reading.read().find("interrupted") != std::string::npos);
        }
        serving.first.left = move::Relay::no_limit;
        CHECK(reading.read().empty());
    }
}

TEST_CASE("a read of which no data comes ends, though the writer's host says that it is alive") {
    // As where the network drops large packets, or a firewall cuts one connection of several.
    for (const std::int64_t came : {0, 1'000'000}) {
        CAPTURE(came);
        Serving serving;
        ReaderOptions options = impatient();
        options.stall_timeout_s = 1;
        const Reading reading(serving.contact, options);
        CHECK(reading.read().empty());
        serving.first.left = came;
        const std::string said = reading.read();
        CAPTURE(said);
        CHECK(said.find("PeerStalled: the writer's host of 'test' is alive") == 0);
        CHECK(said.find("large packets") != std::string::npos);
        serving.first.left = move::Relay::no_limit;
        CHECK(reading.read().empty());
    }
}

TEST_CASE("a read of one thread that ends in the middle is none of another thread's") {
    Serving serving;
    const Reading reading(serving.contact);
    CHECK(reading.read().empty());
    serving.first.left = 1'000'000;
    std::atomic<bool> waits = false;
    std::string others;
    std::thread other;
    {
        const progress::Lookout interrupted([&](double) {
            if (!waits.exchange(true)) {
                other = std::thread([&] { others = reading.read(); });
                return;
            }
            throw TimedOut("interrupted");
        });
        CHECK(reading.read().find("interrupted") != std::string::npos);
    }
    serving.first.left = move::Relay::no_limit;
    other.join();
    CHECK(others.empty());
}

TEST_CASE("a read beside a thread that leaves says that the series was closed") {
    Serving serving;
    const Reading reading(serving.contact);
    serving.first.left = 1'000'000;
    std::string said;
    std::thread reads([&] { said = reading.read(); });
    wait_until([&] { return serving.first.left <= 0; }, Deadline(10), "nothing was read");
    reading.seat->leave();
    reads.join();
    CHECK(said.find("InvalidArgument") != std::string::npos);
    CHECK(said.find("the series was closed") != std::string::npos);
    CHECK(reading.read().find("the series was closed") != std::string::npos);
}
