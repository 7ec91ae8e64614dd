// SPDX-License-Identifier: Apache-2.0
/// What a reader is asked for that is not there.
#include "fluvial/stage/reader.hpp"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

WriterOptions writing() {
    WriterOptions options;
    options.readers = 0;
    options.directory = std::filesystem::temp_directory_path();
    return options;
}

ReaderOptions reading() {
    ReaderOptions options;
    options.directory = std::filesystem::temp_directory_path();
    return options;
}

}  // namespace

TEST_CASE("the host of a rank that the writer does not have is an error") {
    const std::string name = text("reader_test_", ::getpid());
    Writer writer(name, mpi::Comm(), writing());
    Reader reader(name, mpi::Comm(), reading());
    CHECK(reader.host_of(0) == reader.host());
    for (const int rank : {-3, 1, 7}) {
        CHECK_THROWS_WITH_AS(reader.host_of(rank),
                             doctest::Contains("the writer has no such rank: got"), OutOfBounds);
    }
    reader.close();
    writer.close();
}

TEST_CASE("of many datasets an error for an unknown one names a few") {
    const std::string name = text("reader_test_", ::getpid());
    Writer writer(name, mpi::Comm(), writing());
    Reader reader(name, mpi::Comm(), reading());
    {
        WriteStep step = writer.begin_step();
        const double zero = 0;
        for (int i = 0; i < 2000; ++i) {
            step.put(text("dataset", i), {&zero, DType::Float64, {1}}, {0}, {1});
        }
        step.end();
    }
    const auto step = reader.next();
    REQUIRE(step);
    for (const std::string& wrong : {std::string("datset17"), std::string(1000, 'q')}) {
        try {
            static_cast<void>(step->dataset(wrong));
            FAIL("there is none");
        } catch (const UnknownName& error) {
            const std::string said = error.what();
            CAPTURE(said);
            CHECK(said.size() < 600);
            CHECK(said.find(wrong.substr(0, 8)) != std::string::npos);
            CHECK((said.find("Did you mean 'dataset17'?") != std::string::npos) ==
                  (wrong.size() < 100));
        }
    }
    writer.close();
}

TEST_CASE("a reader with a policy of its own loses steps, for which nobody waits") {
    const std::string name = text("reader_test_", ::getpid());
    WriterOptions blocks = writing();
    blocks.queue_steps = 2;
    ReaderOptions discards = reading();
    discards.start = Start::Next;
    discards.full = FullPolicy::DiscardOldest;
    Writer writer(name, mpi::Comm(), blocks);
    Reader archive(name, mpi::Comm(), reading());
    for (const char* transport : {"auto", "tcp"}) {
        CAPTURE(transport);
        discards.transport = transport;
        Reader picture(name, mpi::Comm(), discards);
        const std::uint64_t from = writer.stats().steps_written;
        for (int i = 0; i < 9; ++i) {
            writer.begin_step().end();
            REQUIRE(archive.next());
        }
        const auto step = picture.next();
        REQUIRE(step);
        CHECK(step->index() == from + 7);
        CHECK(picture.stats().steps_discarded == 7);
        CHECK(archive.status().readers.back().full == "discard-oldest");
        picture.close();
    }
    CHECK(archive.stats().steps_discarded == 0);
    CHECK(writer.stats().steps_discarded == 0);
    archive.close();
    writer.close();
}
