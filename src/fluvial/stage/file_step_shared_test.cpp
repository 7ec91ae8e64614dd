// SPDX-License-Identifier: Apache-2.0
// Whichever rank writes what ranks have put, the file is the same byte by byte.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/mpi/world_fixture.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// Of a file, without the times at which it and its datasets were made: openPMD's "date", and
/// HDF5's message "modification time" (type 18, of 8 bytes, version 1).
std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file.good());
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const auto blank = [&](const std::string& before, std::size_t count) {
        for (auto at = bytes.find(before); at != bytes.npos; at = bytes.find(before, at + 1)) {
            bytes.replace(at + before.size(), std::min(count, bytes.size()), count, ' ');
        }
    };
    blank(std::string("\x12\0\x08\0\0\0\0\0\x01\0\0\0", 12), 4);
    const auto date = bytes.find(" +0000");
    if (date != bytes.npos) {
        bytes.replace(date - 19, 19, 19, ' ');  // 2026-11-27 05:51:18
    }
    return bytes;
}

/// Boxes that make up a shape, each of some rank: nothing on some ranks, little or much on others.
std::vector<std::pair<int, Region>> shares(const Coordinates& shape, std::mt19937& random) {
    std::vector<Region> boxes = {whole(shape)};
    for (int cuts = 0; cuts < 6; ++cuts) {
        const std::size_t chosen = random() % boxes.size();
        const int axis = static_cast<int>(random() % static_cast<unsigned>(shape.size()));
        const std::vector<Region> halves = split(boxes[chosen], 2 + random() % 2, axis);
        boxes[chosen] = halves[0];
        boxes.insert(boxes.end(), halves.begin() + 1, halves.end());
    }
    std::vector<std::pair<int, Region>> found;
    for (const Region& box : boxes) {
        const bool much = random() % 2 == 0;
        found.emplace_back(much ? world_size() - 1
                                : static_cast<int>(random() % static_cast<unsigned>(world_size())),
                           box);
    }
    return found;
}

/// Three steps: boxes of three datasets, and a number of one rank; the same of the same seed.
void write_steps(const std::string& name, const std::string& engine, unsigned seed,
                 std::optional<int> aggregators) {
    FileWriterOptions options;
    options.engine = engine;
    options.aggregators = aggregators;
    FileWriter series(name, world(), options);
    std::mt19937 random(seed);
    for (int number = 0; number < 3; ++number) {
        FileWriteStep step = series.begin_step({{"time", 0.5 * number}});
        const Coordinates shapes[] = {{7, 9, 50}, {40000, 7}, {150000}};
        for (const Coordinates& shape : shapes) {
            std::vector<double> values(static_cast<std::size_t>(volume_of(shape)));
            for (double& value : values) {
                value = static_cast<double>(random());
            }
            const ArrayView all(values.data(), DType::Float64, shape);
            for (const auto& [rank, box] : shares(shape, random)) {
                if (rank == world_rank()) {
                    step.put(text("x", shape.size()), subview(all, box), box.offset, shape);
                }
            }
        }
        if (world_rank() == world_size() / 2) {
            const std::int32_t energy = number;
            step.put("energy", ArrayView(&energy, DType::Int32, {}), {}, {});
        }
        step.end();
    }
    series.close();
}

}  // namespace

TEST_CASE("any parts: the file is that which each rank writes its own parts of") {
    const Folder folder;
    for (const std::string engine : {"hdf5", "netcdf"}) {
        for (unsigned trial = 0; trial < 2; ++trial) {
            const unsigned seed = test_seed(1414) + trial;
            write_steps(folder / "own", engine, seed, 0);
            const std::string own = bytes_of(folder / "own");
            REQUIRE(own.size() > 3 * (40000 * 7 + 150000) * sizeof(double));
            for (const std::optional<int> aggregators : {std::optional<int>(), {1}, {2}, {99}}) {
                INFO("aggregators ", aggregators.value_or(-1), " of ", engine);
                write_steps(folder / "shared", engine, seed, aggregators);
                CHECK((bytes_of(folder / "shared") == own));
            }
        }
    }
}

TEST_CASE("what cannot be is said on all ranks") {
    const Folder folder;
    FileWriterOptions options;
    options.aggregators = world_rank() == world_size() - 1 ? -1 : 2;
    CHECK_THROWS_AS(FileWriter(folder / "run.h5", world(), options), InvalidArgument);
    options.aggregators = world_rank() + 1;
    if (world_size() > 1) {
        CHECK_THROWS_AS(FileWriter(folder / "run.h5", world(), options), InvalidArgument);
    }
}
