// SPDX-License-Identifier: Apache-2.0
/// A step that cannot end because the disk is full: it may be ended again, or given up.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

constexpr Index count = 32;

struct Folder {
    Folder() : path(std::filesystem::temp_directory_path() / text("write_step_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
};

/// A queue of one step, and a disk that has room for one with its long attribute, not for two.
WriterOptions writing(const Folder& folder) {
    WriterOptions options;
    options.readers = 0;
    options.directory = folder.path;
    options.queue_steps = 1;
    options.full = FullPolicy::Spill;
    options.spill = folder.path;
    options.spill_bytes = 5000;
    options.step_timeout_s = 0.1;
    return options;
}

ReaderOptions reading(const Folder& folder) {
    ReaderOptions options;
    options.directory = folder.path;
    return options;
}

/// Not ended; by a span, which goes to the disk at the end.
WriteStep step_of(Writer& writer, double value) {
    WriteStep step = writer.begin_step({{"note", std::string(3000, '-')}});
    const auto span = step.span("x", DType::Float64, {{0}, {count}}, {count});
    std::fill_n(reinterpret_cast<double*>(span.data), count, value);
    return step;
}

std::vector<double> numbers_of(ReadStep& step) {
    const Data data = step.dataset("x").read();
    const auto* const first = reinterpret_cast<const double*>(data.view.data);
    return {first, first + count};
}

}  // namespace

TEST_CASE("a step that found the disk full may be ended again, and has its data there once") {
    const Folder folder;
    Writer writer("s", mpi::Comm(), writing(folder));
    Reader reader("s", mpi::Comm(), reading(folder));
    step_of(writer, 0).end();
    step_of(writer, 1).end();
    WriteStep step = step_of(writer, 2);
    CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("stayed full"), TimedOut);
    const auto logged = writer.stats().bytes_logged;
    CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("stayed full"), TimedOut);
    CHECK(writer.stats().bytes_logged == logged);
    for (int read = 0; read < 2; ++read) {
        reader.next()->finish();  // which makes room
    }
    step.end();
    auto last = reader.next();
    REQUIRE(last);
    CHECK(last->index() == 2);
    CHECK(numbers_of(*last) == std::vector<double>(count, 2));
    const auto complete = writer.stats().bytes_logged;
    CHECK_THROWS_WITH_AS(step.end(), doctest::Contains("ended already"), InvalidArgument);
    CHECK(writer.stats().bytes_logged == complete);
    last.reset();
    reader.close();
    writer.close();
}

TEST_CASE("a step that found the disk full may be given up, and the next one begun") {
    const Folder folder;
    Writer writer("s", mpi::Comm(), writing(folder));
    Reader reader("s", mpi::Comm(), reading(folder));
    step_of(writer, 0).end();
    step_of(writer, 1).end();
    {
        WriteStep step = step_of(writer, 2);
        CHECK_THROWS_AS(step.end(), TimedOut);
        step.abandon();
    }
    {
        WriteStep step = step_of(writer, 3);  // is given up by its destructor
        CHECK_THROWS_AS(step.end(), TimedOut);
    }
    CHECK(writer.stats().steps_spoiled == 2);
    for (int read = 0; read < 2; ++read) {
        reader.next()->finish();
    }
    step_of(writer, 4).end();
    auto last = reader.next();
    REQUIRE(last);
    CHECK(last->index() == 4);
    CHECK(numbers_of(*last) == std::vector<double>(count, 4));
    last.reset();
    reader.close();
    writer.close();
}
