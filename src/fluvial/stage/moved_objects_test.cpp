// SPDX-License-Identifier: Apache-2.0
/// What is left of a Writer, WriteStep or Reader that has been moved.
#include <filesystem>
#include <utility>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

TEST_CASE("what has been moved from is refused") {
    const auto folder = std::filesystem::temp_directory_path() / text("fluvial_moved_", ::getpid());
    std::filesystem::create_directory(folder);
    const char* const moved =
        "this object has been moved from: got an empty object; allowed: the "
        "one that it was moved to";
    {
        WriterOptions options;
        options.readers = 0;
        options.directory = folder;
        Writer writer("moved", mpi::Comm(), options);
        Reader reader("moved", mpi::Comm(), ReaderOptions{.directory = folder});
        WriteStep step = writer.begin_step({});
        WriteStep same_step = std::move(step);
        CHECK_THROWS_WITH_AS(step.end(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(step.put("x", ArrayView(), {0}, {0}), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(step.abandon(), moved, InvalidArgument);
        same_step.end();
        Writer same_writer = std::move(writer);
        CHECK_THROWS_WITH_AS(writer.begin_step({}), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(writer.stats(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(writer.close(), moved, InvalidArgument);
        Reader same_reader = std::move(reader);
        CHECK_THROWS_WITH_AS(reader.next(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(reader.stats(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(reader.close(), moved, InvalidArgument);
        CHECK(same_reader.next());
        same_writer.close();
        CHECK_FALSE(same_reader.next());
        same_reader.close();
    }
    {
        FileWriter writer(folder / "run.h5", mpi::Comm());
        FileWriteStep step = writer.begin_step();
        FileWriteStep same_step = std::move(step);
        CHECK_THROWS_WITH_AS(step.end(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(step.put("x", ArrayView(), {0}, {0}), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(step.index(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(step.abandon(), moved, InvalidArgument);
        same_step.abandon();
        writer.close();
    }
    std::filesystem::remove_all(folder);
}
