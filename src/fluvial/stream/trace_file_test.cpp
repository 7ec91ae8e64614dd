// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/trace_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/clock_offset.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

std::string contents(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
}

std::int64_t odd_clock() {
    return now_ns() + 1'000'000'000 * std::int64_t{world_rank()};
}

}  // namespace

TEST_CASE("the file has the events of all ranks on one clock") {
    const std::string path = text("trace_test_", world_size(), ".json");
    Trace trace;
    const std::int64_t offset = mpi::clock_offset(world(), odd_clock);
    const std::int64_t start = odd_clock();
    trace.add(Activity::Processing, 0, start, start + 1'500'250);
    trace.add(Activity::Idle, -1, start + 2'000'000, start + 2'000'001);
    const std::vector<Role> roles(static_cast<std::size_t>(world_size()), Role::Both);
    const std::vector<std::string> streams = {"a \"b\"\\\n"};
    write_trace(path, world(), trace, offset, roles, streams);
    if (world_rank() == 0) {
        const std::string file = contents(path);
        CHECK(std::count(file.begin(), file.end(), '\n') == 4 * world_size() + 3);
        CHECK(file.find(R"("dur": 1500.250)") != std::string::npos);
        CHECK(file.find(R"("cat": "a \"b\"\\\u000a")") != std::string::npos);
        CHECK(file.find(R"("ts": 0.000)") != std::string::npos);
        CHECK(file.find(text("producer and consumer ", world_size() - 1)) != std::string::npos);
        CHECK(std::remove(path.c_str()) == 0);
    }
}

TEST_CASE("each rank of a channel that fails writes what it has") {
    const std::string path = text("trace_test.failed_", world_size(), ".json");
    CHECK(trace_path_of("a.b/c", 3) == "a.b/c.rank-3");
    CHECK(trace_path_of("/x/y.json", 12) == "/x/y.rank-12.json");
    ChannelOptions options;
    if (world_rank() == 0) {
        options.trace_file = path;
    }
    Channel channel = world_channel(Role::Both, options);
    Stream stream(channel, {.name = "numbers", .element = Element::of(DType::Int64)},
                  make_callback([](const Batch&) { throw OutOfRange("not this"); }));
    stream.put(std::int64_t{1});
    CHECK_THROWS_AS(channel.close(), OutOfRange);
    const std::string own = trace_path_of(path, world_rank());
    const std::string file = contents(own);
    CHECK(file.find(text("producer and consumer ", world_rank())) != std::string::npos);
    CHECK(file.find(text("\"tid\": ", world_rank())) != std::string::npos);
    CHECK(file.find("set-up") != std::string::npos);
    CHECK(file.find("\"cat\": \"numbers\"") != std::string::npos);
    CHECK(file.find("\"ts\": -") == std::string::npos);
    CHECK(std::remove(own.c_str()) == 0);
    CHECK(contents(path).empty());
    world().barrier();
}

TEST_CASE("a file that cannot be written is an error on all ranks") {
    const std::vector<Role> roles(static_cast<std::size_t>(world_size()), Role::Both);
    CHECK_THROWS_AS(write_trace("no/such/directory/t.json", world(), Trace(), 0, roles, {}),
                    SystemError);
}
