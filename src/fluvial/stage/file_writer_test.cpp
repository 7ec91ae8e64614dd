// SPDX-License-Identifier: Apache-2.0
// How openPMD's own programs read such files is tested in Python.
#include "fluvial/stage/file_writer.hpp"

#include <csignal>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/formats.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/numbered_files.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const Coordinates shape = {12, 5};

/// All of the field of a step, row-major.
std::vector<double> field(std::uint64_t step) {
    std::vector<double> values(static_cast<std::size_t>(volume_of(shape)));
    std::iota(values.begin(), values.end(), 100.0 * static_cast<double>(step));
    return values;
}

template <class Step>
void put_field(Step& step, const Attributes& attributes = {}) {
    const std::vector<double> values = field(step.index());
    const Region mine = part_of(shape, static_cast<int>(step.index() % 2));
    const ArrayView part = subview(ArrayView(values.data(), DType::Float64, shape), mine);
    step.put("meshes/E/x", part, mine.offset, shape, attributes);
}

void check_steps(const std::vector<store::Iteration>& found, std::uint64_t count) {
    REQUIRE(found.size() == count);
    for (std::uint64_t i = 0; i < count; ++i) {
        CHECK(found[i].index == i);
        CHECK(std::get<double>(found[i].contents->attributes().at("time")) ==
              0.5 * static_cast<double>(i));
        CHECK(all_of(*found[i].contents, "meshes/E/x") == field(i));
    }
}

}  // namespace

TEST_CASE("ranks write rows and columns of one file, or of a file for each step") {
    const Folder folder;
    for (const std::string name : {"run.h5", "data%T.h5", "data_%04T.h5"}) {
        SeriesWriter series(folder / name, world());
        CHECK_FALSE(series.live());
        series.set_attributes({{"author", std::string("a rank")}});
        for (int i = 0; i < 4; ++i) {
            SeriesWriteStep step = series.begin_step({{"time", 0.5 * i}});
            CHECK(step.index() == static_cast<std::uint64_t>(i));
            CHECK(step.accepted());
            put_field(step, {{"unitSI", 2.0}});
            step.end();
        }
        series.close();
        series.close();
    }
    check_steps(store::iterations_of(store::open_file(folder / "run.h5")), 4);
    CHECK(std::get<std::string>(store::open_file(folder / "run.h5")->attributes().at("author")) ==
          "a rank");
    for (const std::string pattern : {"data%T.h5", "data_%04T.h5"}) {
        std::vector<store::Iteration> found;
        for (const auto& [number, path] : store::numbered_files(folder / pattern)) {
            CHECK(path == store::file_of_number(folder / pattern, number));
            found.push_back(store::iterations_of(store::open_file(path)).front());
        }
        check_steps(found, 4);
    }
    CHECK(folder.names().size() == 9);
}

TEST_CASE("iterations have the numbers that they are given, which ascend") {
    const Folder folder;
    for (const std::string name : {"run.h5", "data%T.h5"}) {
        SeriesWriter series(folder / name, world());
        for (const std::uint64_t number : {0, 100, 101}) {
            const bool said = number == 100;
            SeriesWriteStep step =
                said ? series.begin_step(
                           {}, {.iteration = 100, .groups = {{"meshes", {{"solver", 1.0}}}}})
                     : series.begin_step();
            CHECK(step.index() == number);
            put_field(step);
            step.end();
        }
        CHECK_THROWS_AS(static_cast<void>(series.begin_step({}, {.iteration = 101})),
                        InvalidArgument);
        CHECK_THROWS_AS(static_cast<void>(series.begin_step({}, {.groups = {{"a//b", {}}}})),
                        InvalidArgument);
        CHECK_THROWS_WITH_AS(
            static_cast<void>(series.begin_step({}, {.iteration = std::uint64_t{1} << 63})),
            doctest::Contains("iteration is out of range: got 9223372036854775808"),
            InvalidArgument);
        series.close();
    }
    std::vector<std::uint64_t> numbers;
    for (const auto& iteration : store::iterations_of(store::open_file(folder / "run.h5"))) {
        numbers.push_back(iteration.index);
    }
    for (const auto& entry : store::numbered_files(folder / "data%T.h5")) {
        numbers.push_back(entry.first);
    }
    CHECK(numbers == std::vector<std::uint64_t>{0, 100, 101, 0, 100, 101});
}

TEST_CASE("all dtypes, scalars, empty parts, spans and several puts a rank") {
    const Folder folder;
    FileWriter series(folder / "run.h5", world());
    FileWriteStep step = series.begin_step();
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        const Index ranks = world_size();
        for (const Index half : {0, 1}) {
            const Region mine = {{2 * world_rank() + half, 0}, {1, 3}};
            const MutableArrayView span =
                step.span(std::string(name_of(dtype)), dtype, mine, {2 * ranks, 3});
            std::fill_n(span.data, 3 * size_of(dtype), std::byte(world_rank() + 1));
        }
    }
    if (world_rank() == world_size() - 1) {
        const double energy = 7;
        step.put("energy", ArrayView(&energy, DType::Float64, {}), {}, {});
    }
    const std::vector<double> none;
    step.put("none", ArrayView(none.data(), DType::Float64, {0, 3}), {0, 0}, {0, 3});
    step.end();
    series.close();
    const auto file = store::iterations_of(store::open_file(folder / "run.h5")).front().contents;
    CHECK(all_of(*file, "energy") == std::vector<double>{7});
    CHECK(file->dataset("none")->shape() == Coordinates{0, 3});
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        const auto dataset = file->dataset(std::string(name_of(dtype)));
        REQUIRE(dataset->dtype() == dtype);
        std::vector<std::byte> values(static_cast<std::size_t>(volume_of(dataset->shape())) *
                                      size_of(dtype));
        dataset->read(whole(dataset->shape()),
                      {values.data(), dtype, dataset->shape(),
                       contiguous_strides(dataset->shape(), size_of(dtype))});
        for (std::size_t i = 0; i < values.size(); ++i) {
            CHECK(values[i] == std::byte(i / (6 * size_of(dtype)) + 1));
        }
    }
}

TEST_CASE("positions of particles need no offsets, which are zero then") {
    const Folder folder;
    SeriesWriter series(folder / "particles.h5", world());
    for (int i = 0; i < 2; ++i) {
        SeriesWriteStep step = series.begin_step();
        put_field(step);
        const std::vector<double> mine(3, 10.0 * i + world_rank());
        step.put("particles/e/position/x", ArrayView(mine.data(), DType::Float64, {3}),
                 {3 * world_rank()}, {3 * world_size()});
        step.end();
    }
    series.close();
    const auto found = store::iterations_of(store::open_file(folder / "particles.h5"));
    REQUIRE(found.size() == 2);
    const std::vector<double> x = all_of(*found[1].contents, "particles/e/position/x");
    CHECK(x.size() == static_cast<std::size_t>(3 * world_size()));
    CHECK(x.back() == 10.0 + world_size() - 1);
}

TEST_CASE("what there is no memory for, or is no view, leaves the step as it was") {
    const Folder folder;
    for (const std::string name : {"run.h5", "stream"}) {
        const bool live = name == "stream";
        if (live && world_size() > 1) {
            continue;
        }
        SeriesWriterOptions options;
        options.stream.readers = 0;
        options.stream.directory = folder / ".";
        const mpi::Comm alone;
        const mpi::Comm& comm = live ? alone : world();
        SeriesWriter series(live ? name : folder / name, comm, options);
        SeriesWriteStep step = series.begin_step({{"time", 0.0}});
        constexpr Index much = Index{1} << 50;
        CHECK_THROWS_AS(step.span("large", DType::Float64, {{0}, {much}}, {much}), Error);
        const std::vector<double> values(24);
        ArrayView view(values.data(), DType::Float64, {4, 6}, {8});
        CHECK_THROWS_WITH_AS(step.put("odd", view, {0, 0}, {4, 6}),
                             doctest::Contains("one stride for each axis"), InvalidArgument);
        view = ArrayView(values.data(), DType::Float64, {4, 6});
        view.swapped = true;
        CHECK_THROWS_WITH_AS(step.put("odd", view, {0, 0}, {4, 6}),
                             doctest::Contains("another byte order"), InvalidArgument);
        put_field(step);
        step.end();
        series.close();
        if (!live) {
            const auto found = store::iterations_of(store::open_file(folder / name));
            CHECK(all_of(*found.at(0).contents, "meshes/E/x") == field(0));
            CHECK(found.at(0).contents->names().front() == "meshes/E/x");
            CHECK(found.at(0).contents->names().size() == 1);
        }
    }
}

TEST_CASE("what is wrong on one rank is an error on all, and the next step is written") {
    const Folder folder;
    const bool last = world_rank() == world_size() - 1;
    FileWriter series(folder / "run.h5", world());
    {
        FileWriteStep step = series.begin_step();
        const double value = 1;
        CHECK_THROWS_AS(step.put("x", ArrayView(&value, DType::Float64, {1}), {1}, {1}),
                        InvalidArgument);
        if (world_size() == 1) {
            step.put("x", ArrayView(&value, DType::Float64, {1}), {0}, {2});
        } else {
            const DType dtype = last ? DType::Int64 : DType::Float64;
            step.put("x", ArrayView(&value, dtype, {1}), {world_rank()}, {world_size()});
        }
        CHECK_THROWS_AS(step.end(), InvalidArgument);
        CHECK_THROWS_AS(step.end(), InvalidArgument);
    }
    for (const Attributes& attributes :
         {Attributes{{"comment", std::string("a\0b", 3)}},
          Attributes{{std::string("a\0b", 3), true}},
          Attributes{{"comment", std::vector<std::string>{"a", std::string("\0", 1)}}},
          Attributes{{"comment", std::string(64'001, 'x')}},
          Attributes{{"comment", std::vector<double>(8'001)}}}) {
        FileWriteStep step = series.begin_step(attributes);
        put_field(step);
        CHECK_THROWS_AS(step.end(), InvalidArgument);
    }
    {
        FileWriteStep step = series.begin_step();
        CHECK_THROWS_AS(series.begin_step(), InvalidArgument);
        put_field(step);
        if (last) {
            step.abandon();
        } else {
            CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("a step that was given up"), Error);
        }
    }
    {
        FileWriteStep step = series.begin_step({{"time", 1.0}});
        put_field(step);
        step.end();
    }
    series.close();
    CHECK_THROWS_AS(series.begin_step(), InvalidArgument);
    const auto found = store::iterations_of(store::open_file(folder / "run.h5"));
    REQUIRE(found.size() == 1);
    CHECK(found[0].index == 7);
    CHECK(all_of(*found[0].contents, "meshes/E/x") == field(7));
}

TEST_CASE("two writers, files that are there, and other engines are refused") {
    const Folder folder;
    CHECK_THROWS_WITH_AS(SeriesWriter(folder / "run.zarr", world()),
                         doctest::Contains("cannot be written from C++"), InvalidArgument);
    CHECK_THROWS_WITH_AS(SeriesWriter("run", world(), {.engine = "zarr"}),
                         doctest::Contains("'run' with engine 'zarr'"), InvalidArgument);
    CHECK_THROWS_WITH_AS(SeriesWriter(folder / "none/run.h5", world()),
                         doctest::Contains("cannot be written: its folder"), SystemError);
    for (const double seconds : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
        FileWriterOptions options;
        options.stall_timeout_s = seconds;
        CHECK_THROWS_WITH_AS(FileWriter(folder / "run.h5", world(), options),
                             doctest::Contains("stall_timeout is out of range"), InvalidArgument);
    }
    {
        FileWriter series(folder / "data%T.h5", world());
        CHECK_THROWS_WITH_AS(FileWriter(folder / "data%T.h5", world()),
                             doctest::Contains("another writer has these files"), InvalidArgument);
        FileWriteStep step = series.begin_step();
        put_field(step);
        step.end();
        series.close();
    }
    CHECK_THROWS_WITH_AS(FileWriter(folder / "data%T.h5", world()),
                         doctest::Contains("are there already"), InvalidArgument);
    CHECK(folder.names() == std::vector<std::string>{"data0.h5"});
    if (world_size() > 1) {
        CHECK_THROWS_WITH_AS(FileWriter(folder / (world_rank() == 0 ? "a.h5" : "b.h5"), world()),
                             doctest::Contains("differ in the file"), InvalidArgument);
    }
}

TEST_CASE("a series that has been moved from, or closed, is refused") {
    const Folder folder;
    FileWriter series(folder / "run.h5", world());
    FileWriter other = std::move(series);
    CHECK_THROWS_WITH_AS(static_cast<void>(series.begin_step()), doctest::Contains("moved from"),
                         InvalidArgument);
    CHECK_NOTHROW(series.close());
    FileWriteStep step = other.begin_step();
    put_field(step);
    step.end();
    other.close();
    CHECK_THROWS_WITH_AS(other.set_attributes({{"a", 1.0}}), doctest::Contains("is closed"),
                         InvalidArgument);
}

TEST_CASE("a full disk is an error on all ranks, and later steps may fit") {
    const Folder folder;
    FileWriter series(folder / "run.h5", world());
    std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit before = {};
    getrlimit(RLIMIT_FSIZE, &before);
    for (const bool full : {false, true, false}) {
        FileWriteStep step = series.begin_step({{"time", 0.0}});
        put_field(step);
        const std::vector<double> values(full ? 100'000 : 10, 1.0);
        const auto count = static_cast<Index>(values.size());
        if (world_rank() == 0) {
            step.put("much", ArrayView(values.data(), DType::Float64, {count}), {0}, {count});
        }
        const struct rlimit limit = {200'000, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        if (full) {
            CHECK_THROWS_AS(step.end(), SystemError);
        } else {
            step.end();
        }
        setrlimit(RLIMIT_FSIZE, &before);
    }
    series.close();
    const auto found = store::iterations_of(store::open_file(folder / "run.h5"));
    REQUIRE(found.size() == 2);
    CHECK(all_of(*found[1].contents, "meshes/E/x") == field(2));
}

TEST_CASE("a series without a step is a file without steps, and numbered files are none") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run.nc", "run%T.h5"}) {
        for (const bool with_step : {name.ends_with(".h5"), false}) {
            FileWriter series(folder / name, world(),
                              {.engine = name.ends_with(".nc") ? "netcdf" : "hdf5"});
            series.set_attributes({{"author", std::string("me")}});
            if (with_step && name == "run.h5") {
                FileWriteStep step = series.begin_step();
                put_field(step);
                step.end();
            }
            series.close();
        }
        world().barrier();
    }
    CHECK(folder.names() == std::vector<std::string>{"run.h5", "run.nc"});
    for (const std::string name : {"run.h5", "run.nc"}) {
        const auto file = store::open_file(folder / name);
        if (name.ends_with(".h5")) {
            CHECK(store::iterations_of(file).empty());
        } else {
            CHECK(file->dimensions().front().unlimited);
            CHECK(file->dimensions().front().length == 0);
        }
        CHECK(file->names().empty());
        CHECK(std::get<std::string>(file->attributes().at("author")) == "me");
    }
    world().barrier();
    FileWriter series(folder / "run.h5", world());
    series.set_attributes({{"author", text("rank ", world_rank())}});
    if (world_size() > 1) {
        CHECK_THROWS_WITH_AS(series.close(), doctest::Contains("two values of 'author'"),
                             InvalidArgument);
    } else {
        series.close();
    }
}
