// SPDX-License-Identifier: Apache-2.0
// Files that are followed while a thread of the first rank writes them. How programs follow each
// other's files, also C++ and Python, is tested in tests/.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/scan/series.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"

using namespace fluvial;
using namespace fluvial::scan;
using stage::FileWriter;
using stage::Folder;

namespace {

constexpr Index length = 300;

SeriesOptions following(double seconds = 60) {
    SeriesOptions options;
    options.follow = true;
    options.stream.rendezvous_timeout_s = seconds;
    options.stream.step_timeout_s = seconds;
    return options;
}

stage::FileWriterOptions engine_for(const std::string& name) {
    stage::FileWriterOptions options;
    options.engine = name.ends_with(".nc") ? "netcdf" : "hdf5";
    return options;
}

void write_step(FileWriter& writer, double value) {
    const std::vector<double> values(static_cast<std::size_t>(length), value);
    stage::FileWriteStep step = writer.begin_step();
    step.put("x", ArrayView(values.data(), DType::Float64, {length}), {0}, {length});
    step.end();
}

void rest() {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
}

/// A writer on the first rank: `write` is called with it in a thread, which then ends.
class WriterThread {
  public:
    template <class Write>
    WriterThread(const std::string& path, Write write) {
        if (world_rank() == 0) {
            thread_ = std::thread([path, write] {
                rest();  // the follower is first
                FileWriter writer(path, mpi::Comm(), engine_for(path));
                write(writer);
            });
        }
    }
    WriterThread(const WriterThread&) = delete;
    WriterThread& operator=(const WriterThread&) = delete;
    ~WriterThread() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }

  private:
    std::thread thread_;
};

/// The values of all steps to the end.
std::vector<double> values_of(Series& series) {
    std::vector<double> found;
    while (const auto step = series.next()) {
        CHECK(step->index() == found.size());
        const compute::Array x = step->read("x");
        REQUIRE(x.shape == Coordinates{length});
        found.push_back(x.as<double>()[length - 1]);
    }
    return found;
}

}  // namespace

TEST_CASE("each step is given when it is finished, and the end is seen") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run%T.h5", "run.nc"}) {
        CAPTURE(name);
        mpi::Comm user = world().serial() ? mpi::Comm() : world().split(0, world_rank());
        Series series(folder / name, user, following());
        user.close();  // it is not needed any more
        CHECK_FALSE(series.live());
        const WriterThread writing(folder / name, [](FileWriter& writer) {
            for (int i = 0; i < 6; ++i) {
                write_step(writer, i);
                if (i % 2 == 0) {
                    rest();
                }
            }
            writer.close();
        });
        CHECK(values_of(series) == std::vector<double>{0, 1, 2, 3, 4, 5});
        CHECK_FALSE(series.next());
        CHECK_THROWS_AS(series.size(), InvalidArgument);
        series.close();
        CHECK_THROWS_AS(series.next(), InvalidArgument);
    }
}

TEST_CASE("a step that is given stays readable while further ones are written") {
    const Folder folder;
    Series series(folder / "run.h5", world(), following());
    const WriterThread writing(folder / "run.h5", [](FileWriter& writer) {
        for (int i = 0; i < 5; ++i) {
            write_step(writer, i);
        }
        writer.close();
    });
    std::vector<SeriesStep> steps;
    while (auto step = series.next()) {
        steps.push_back(std::move(*step));
    }
    REQUIRE(steps.size() == 5);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        CHECK(steps[i].read("x").as<double>()[0] == static_cast<double>(i));
    }
    series.close();
}

TEST_CASE("a writer that is gone is an error behind the steps that it finished") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run%T.h5", "run.nc"}) {
        CAPTURE(name);
        Series series(folder / name, world(), following());
        const WriterThread writing(folder / name, [](FileWriter& writer) {
            for (int i = 0; i < 3; ++i) {
                write_step(writer, i);
            }
            rest();  // not closed
        });
        for (int i = 0; i < 3; ++i) {
            const auto step = series.next();
            REQUIRE(step.has_value());
            CHECK(step->read("x").as<double>()[0] == i);
        }
        CHECK_THROWS_WITH_AS(series.next(), doctest::Contains("gone"), PeerLost);
        series.close();
    }
}

TEST_CASE("a writer that closes without a step ends the series") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run%T.h5"}) {
        CAPTURE(name);
        Series series(folder / name, world(), following());
        const WriterThread writing(folder / name, [](FileWriter& writer) {
            std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the follower sees it
            writer.close();
        });
        CHECK_FALSE(series.next());
        series.close();
    }
}

TEST_CASE("files that do not come, and steps that do not, are waited for as long as was said") {
    const Folder folder;
    Series none(folder / "none.h5", world(), following(0.3));
    CHECK_THROWS_WITH_AS(none.next(), doctest::Contains("rendezvous_timeout_s"), TimedOut);
    none.close();
    SeriesOptions impatient = following();
    impatient.stream.step_timeout_s = 0.5;
    Series slow(folder / "slow.h5", world(), impatient);
    const WriterThread writing(folder / "slow.h5", [](FileWriter& writer) {
        write_step(writer, 7);
        std::this_thread::sleep_for(std::chrono::seconds(4));
        writer.close();
    });
    const auto step = slow.next();
    REQUIRE(step.has_value());
    CHECK(step->read("x").as<double>()[0] == 7);
    CHECK_THROWS_WITH_AS(slow.next(0.1), doctest::Contains("got 0.1 s"), TimedOut);
    CHECK_THROWS_WITH_AS(slow.next(), doctest::Contains("step_timeout_s"), TimedOut);
    slow.close();
}

TEST_CASE("a file says that no step will come, where its program does not") {
    const Folder folder;
    if (world_rank() == 0) {
        FileWriter writer(folder / "run.nc", mpi::Comm(), engine_for("run.nc"));
        write_step(writer, 1);
        writer.close();
    }
    world().barrier();
    SeriesOptions options = following();
    options.until = folder / "done";
    Series series(folder / "run.nc", world(), options);
    CHECK(series.next().has_value());
    std::thread other;
    if (world_rank() == 0) {
        other = std::thread([&] {
            rest();
            std::ofstream(folder / "done") << "";
        });
    }
    CHECK_FALSE(series.next());
    if (other.joinable()) {
        other.join();
    }
    series.close();
}

TEST_CASE("a rank that is stopped is an error on all, also on itself when it goes on") {
    if (world_size() == 1) {
        return;
    }
    const Folder folder;
    SeriesOptions options = following();
    options.stream.stall_timeout_s = 2;
    Series series(folder / "run.h5", world(), options);
    if (world_rank() == world_size() - 1) {
        const std::string stop =
            text("(kill -STOP ", ::getpid(), "; sleep 5; kill -CONT ", ::getpid(), ") &");
        REQUIRE(std::system(stop.c_str()) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until it is
    }
    CHECK_THROWS_WITH_AS(series.next(), doctest::Contains("stall_timeout of the series"),
                         PeerStalled);
}
