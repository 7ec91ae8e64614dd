// SPDX-License-Identifier: Apache-2.0
// Compressed datasets that ranks write together. How h5py reads such files is tested in Python.
#include <csignal>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/formats.hpp"
#include "fluvial/store/iterations.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

const SeriesWriterOptions gzip{.compression = "gzip"};

/// Elements of which few bytes differ, or all of them.
std::vector<double> elements_of(const Coordinates& shape, std::uint64_t step, bool noise = false) {
    std::vector<double> values(static_cast<std::size_t>(volume_of(shape)));
    std::iota(values.begin(), values.end(), 1000.0 * static_cast<double>(step));
    if (noise) {
        std::mt19937_64 random(step);
        std::ranges::generate(values, [&] { return static_cast<double>(random()) * 0x1p-64; });
    }
    return values;
}

void put(SeriesWriteStep& step, const std::string& name, const Coordinates& shape,
         const Region& mine, bool noise = false) {
    if (mine.empty()) {
        return;
    }
    const std::vector<double> values = elements_of(shape, step.index(), noise);
    step.put(name, subview(ArrayView(values.data(), DType::Float64, shape), mine), mine.offset,
             shape);
}

std::shared_ptr<const store::File> step_of(const std::string& path, std::size_t position) {
    return store::iterations_of(store::open_file(path)).at(position).contents;
}

}  // namespace

TEST_CASE("rows, columns and what is too small are read as they were put") {
    const Folder folder;
    const Coordinates shape = {60, 50};
    for (const std::string name : {"run.h5", "data%T.h5"}) {
        SeriesWriter series(folder / name, world(), gzip);
        for (std::uint64_t i = 0; i < 3; ++i) {
            SeriesWriteStep step = series.begin_step({{"time", 0.5}});
            put(step, "meshes/E/x", shape, part_of(shape, 0));
            put(step, "meshes/E/y", shape, part_of(shape, 1));
            put(step, "meshes/rho", {10, 3}, part_of({10, 3}, 0));
            put(step, "meshes/noise", shape, part_of(shape, 0), true);
            step.end();
        }
        series.close();
        for (std::uint64_t i = 0; i < 3; ++i) {
            const auto step = name == "run.h5" ? step_of(folder / name, i)
                                               : step_of(folder / text("data", i, ".h5"), 0);
            CHECK(all_of(*step, "meshes/E/x") == elements_of(shape, i));
            CHECK(all_of(*step, "meshes/E/y") == elements_of(shape, i));
            CHECK(all_of(*step, "meshes/rho") == elements_of({10, 3}, i));
            CHECK(all_of(*step, "meshes/noise") == elements_of(shape, i, true));
            const auto& chunked = std::get<store::Chunked>(step->dataset("meshes/E/x")->layout());
            CHECK(chunked.filters.size() == 2);
            CHECK(std::holds_alternative<store::Affine>(step->dataset("meshes/rho")->layout()));
        }
    }
    if (world_rank() == 0) {  // two of four fields shrink
        const auto field = static_cast<std::uintmax_t>(volume_of(shape)) * 8;
        CHECK(std::filesystem::file_size(folder / "run.h5") < 3 * 3 * field);
    }
}

TEST_CASE("however the ranks cut a dataset, each element is where it belongs") {
    const Folder folder;
    std::mt19937 random(test_seed(20261126));  // the same on all ranks
    SeriesWriter series(folder / "run.h5", world(), gzip);
    std::vector<Coordinates> shapes;
    for (int i = 0; i < 12; ++i) {
        const Coordinates shape = {static_cast<Index>(20 + random() % 300),
                                   static_cast<Index>(30 + random() % 3000)};
        shapes.push_back(shape);
        // Boxes in rows of boxes, dealt to the ranks at random, some with several and some with
        // none.
        std::vector<Index> rows = {0, shape[0]}, columns = {0, shape[1]};
        for (std::uint32_t cuts = random() % 4; cuts > 0; --cuts) {
            rows.push_back(static_cast<Index>(random()) % shape[0]);
            columns.push_back(static_cast<Index>(random()) % shape[1]);
        }
        std::ranges::sort(rows);
        std::ranges::sort(columns);
        SeriesWriteStep step = series.begin_step();
        for (std::size_t r = 1; r < rows.size(); ++r) {
            for (std::size_t c = 1; c < columns.size(); ++c) {
                if (static_cast<int>(random() % 64) % world_size() == world_rank()) {
                    put(step, "x", shape,
                        {{rows[r - 1], columns[c - 1]},
                         {rows[r] - rows[r - 1], columns[c] - columns[c - 1]}});
                }
            }
        }
        step.end();
    }
    series.close();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        CHECK((all_of(*step_of(folder / "run.h5", i), "x") == elements_of(shapes[i], i)));
    }
}

TEST_CASE("more than one chunk a rank, and a dataset of few bytes a rank") {
    const Folder folder;
    const Coordinates large = {1500, 1000};  // 12 MB: chunks hold 4 MiB at most
    {
        SeriesWriter series(folder / "run.h5", world(), {.compression = "gzip:1"});
        SeriesWriteStep step = series.begin_step();
        put(step, "large", large, part_of(large, 0));
        put(step, "one", {600}, world_rank() == 0 ? whole({600}) : Region{{600}, {0}});
        step.end();
        series.close();
    }
    const auto step = step_of(folder / "run.h5", 0);
    CHECK((all_of(*step, "large") == elements_of(large, 0)));
    CHECK((all_of(*step, "one") == elements_of({600}, 0)));
}

TEST_CASE("what cannot be compressed is refused on every rank") {
    const Folder folder;
    CHECK_THROWS_AS(SeriesWriter(folder / "run.h5", world(), {.compression = "lz4"}),
                    InvalidArgument);
    CHECK_THROWS_AS(SeriesWriter(folder / "run.nc", world(), gzip), InvalidArgument);
    if (world_size() > 1) {
        const std::string mine = world_rank() == 0 ? "gzip" : "gzip:9";
        CHECK_THROWS_WITH_AS(SeriesWriter(folder / "run.h5", world(), {.compression = mine}),
                             doctest::Contains("the compression"), InvalidArgument);
    }
    world().barrier();
    CHECK(folder.names().empty());
}

TEST_CASE("a disk that gets full loses the step, on every rank, and not the file") {
    const Folder folder;
    const Coordinates shape = {400, 500};
    rlimit before = {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    ::signal(SIGXFSZ, SIG_IGN);
    SeriesWriter series(folder / "run.h5", world(), gzip);
    for (const bool full : {false, true, false}) {
        SeriesWriteStep step = series.begin_step();
        put(step, "x", shape, part_of(shape, 0), true);
        const rlimit limit = {full ? 2'000'000 : before.rlim_cur, before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
        if (full) {
            CHECK_THROWS_AS(step.end(), SystemError);
        } else {
            step.end();
        }
    }
    series.close();
    ::signal(SIGXFSZ, SIG_DFL);
    const auto found = store::iterations_of(store::open_file(folder / "run.h5"));
    REQUIRE(found.size() == 2);
    CHECK((all_of(*found[0].contents, "x") == elements_of(shape, 0, true)));
    CHECK((all_of(*found[1].contents, "x") == elements_of(shape, 2, true)));
}
