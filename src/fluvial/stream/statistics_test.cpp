// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

struct Seen {
    Statistics sent;
    Statistics received;
    double took_s = 0;
};

/// Each producer sends `count` numbers through a small buffer; a batch takes 1 ms.
Seen run(const std::string& trace_file, int count) {
    const std::int64_t begin = now_ns();
    Seen seen;
    Channel channel = world_channel(halves(), {.trace_file = trace_file});
    Stream stream(channel,
                  {.name = "numbers",
                   .element = Element::of(DType::Float64),
                   .buffer_bytes = 16384 * static_cast<std::size_t>(world_size())},
                  make_batches<double>([](std::span<const double>) {
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  }));
    if (produces(channel.role())) {
        for (int i = 0; i < count; ++i) {
            stream.put(1.0 * i);
        }
        stream.terminate();
        seen.sent = stream.statistics();
    }
    if (consumes(channel.role())) {
        stream.operate();
        seen.received = stream.statistics();
    }
    channel.close();
    CHECK(stream.statistics().bytes == seen.received.bytes);
    seen.took_s = 1e-9 * static_cast<double>(now_ns() - begin);
    return seen;
}

std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

}  // namespace

TEST_CASE("what was sent is what was processed, and time is accounted for") {
    constexpr int count = 50'000;
    const Seen seen = run("", count);
    const std::int64_t producers = sum_over_world(produces(halves()) ? 1 : 0);
    CHECK(sum_over_world(static_cast<std::int64_t>(seen.sent.sent_elements)) == count * producers);
    CHECK(sum_over_world(static_cast<std::int64_t>(seen.received.elements)) == count * producers);
    CHECK(sum_over_world(static_cast<std::int64_t>(seen.received.bytes)) == 8 * count * producers);
    if (produces(halves())) {
        CHECK(seen.sent.sent_bytes == 8 * count);
        CHECK(seen.sent.stalls > 0);
        CHECK(seen.sent.stalled_ns > 0);
        CHECK(1e-9 * static_cast<double>(seen.sent.stalled_ns) < seen.took_s);
        CHECK(seen.sent.text().find("sent 50000 elements (390.6 KiB)") != std::string::npos);
    }
    if (consumes(halves()) && seen.received.elements > 0) {
        CHECK(seen.received.batches > 0);
        CHECK(seen.received.processing_ns >= 1'000'000 * std::int64_t(seen.received.batches));
        CHECK(1e-9 * static_cast<double>(seen.received.processing_ns) < seen.took_s);
        CHECK(1e-9 * static_cast<double>(seen.received.idle_ns) < seen.took_s);
        CHECK(seen.received.depth_bytes == 0);
        CHECK(seen.received.depth_bytes_max > 0);
        CHECK(seen.received.depth_bytes_max <= 16384 * static_cast<std::size_t>(world_size()));
        CHECK(seen.received.memory_bytes > 0);
        CHECK(seen.received.text().find(" batches for ") != std::string::npos);
    }
}

TEST_CASE("a consumer without anything to do is idle") {
    Channel channel = world_channel(halves());
    Stream stream(channel, {}, make_batches<std::uint8_t>([](std::span<const std::uint8_t>) {}));
    if (produces(channel.role())) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
    if (channel.role() == Role::Consumer) {
        CHECK(stream.statistics().idle_ns > 20'000'000);
    }
    channel.close();
}

TEST_CASE("the trace of a channel shows which ranks processed and which waited") {
    const std::string path = text("statistics_test_", world_size(), ".json");
    run(path, 50'000);
    if (world_rank() == 0) {
        const std::string trace = contents(path);
        for (const char* activity : {"set-up", "stalled", "processing", "terminating"}) {
            CAPTURE(activity);
            CHECK(trace.find(text("{\"name\": \"", activity, "\", \"cat\"")) != std::string::npos);
        }
        CHECK(trace.find(R"("cat": "numbers")") != std::string::npos);
        CHECK(std::remove(path.c_str()) == 0);
    }
}

TEST_CASE("a trace that cannot be written is an error, and the channel is closed all the same") {
    Channel channel = world_channel(Role::Both, {.trace_file = "no/such/directory/t.json"});
    CHECK_THROWS_AS(channel.close(), SystemError);
    channel.close();
}
