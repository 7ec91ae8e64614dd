// SPDX-License-Identifier: Apache-2.0
// Ranks that do not do their part of a file.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

template <class Step>
void put_part(Step& step) {
    const std::vector<double> mine(3, world_rank());
    step.put("x", ArrayView(mine.data(), DType::Float64, {3}), {3 * world_rank()},
             {3 * world_size()});
}

}  // namespace

TEST_CASE("a rank that does not come is an error on the others") {
    const Folder folder;
    const bool late = world_rank() == world_size() - 1;
    {
        FileWriter series(folder / "run.h5", world(), {.step_timeout_s = 0.3});
        FileWriteStep step = series.begin_step();
        if (!late) {
            put_part(step);
            CHECK_THROWS_AS(step.end(), TimedOut);
        }
        world().barrier();
        if (late) {
            CHECK_THROWS_AS(step.end(), Error);
        }
    }
    world().barrier();
}

TEST_CASE("the communicator may be closed before the series, whose ranks may come late") {
    const Folder folder;
    mpi::Comm user = world().split(0, world_rank());
    FileWriter series(folder / "run.h5", user, {});
    user.close();
    FileWriteStep step = series.begin_step();
    put_part(step);
    if (world_rank() == world_size() - 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));  // the others look around
    }
    step.end();
    series.close();
}

TEST_CASE("a rank that is stopped is an error on all, also on itself when it goes on") {
    const Folder folder;
    SeriesWriterOptions options;
    options.stream.stall_timeout_s = 2;
    SeriesWriter series(folder / "run.h5", world(), options);
    {
        SeriesWriteStep step = series.begin_step();
        put_part(step);
        step.end();
    }
    SeriesWriteStep step = series.begin_step();
    put_part(step);
    if (world_rank() == world_size() - 1) {
        const std::string stop =
            text("(kill -STOP ", ::getpid(), "; sleep 5; kill -CONT ", ::getpid(), ") &");
        REQUIRE(std::system(stop.c_str()) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until it is
    }
    CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("stall_timeout of the series"), PeerStalled);
}

TEST_CASE("a rank that gives the series up is an error on the others, at once") {
    const Folder folder;
    std::optional<FileWriter> series(std::in_place, folder / "run.h5", world(),
                                     FileWriterOptions{.step_timeout_s = 60});
    {
        FileWriteStep step = series->begin_step();
        put_part(step);
        step.end();
    }
    if (world_rank() == world_size() - 1) {
        series.reset();
    } else {
        const std::int64_t begin_ns = now_ns();
        FileWriteStep step = series->begin_step();
        put_part(step);
        CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("given up before it was closed"),
                             PeerLost);
        CHECK(now_ns() - begin_ns < 20'000'000'000);
    }
    world().barrier();
}
