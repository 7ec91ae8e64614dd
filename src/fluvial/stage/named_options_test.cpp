// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/named_options.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::stage;

TEST_CASE("options by their names are those of the classes") {
    const SeriesWriterOptions writing = writer_options({{"engine", "hdf5"},
                                                        {"aggregators", "2"},
                                                        {"full", "discard-oldest"},
                                                        {"queue_steps", "7"},
                                                        {"step_timeout", "2.5"},
                                                        {"encrypt", "true"}});
    CHECK(writing.engine == "hdf5");
    CHECK(writing.aggregators == 2);
    CHECK(writing.stream.full == FullPolicy::DiscardOldest);
    CHECK(writing.stream.queue_steps == 7);
    CHECK(writing.stream.step_timeout_s == 2.5);
    CHECK(writing.stream.encrypt);
    const SeriesReaderOptions reading = reader_options({{"follow", "1"}, {"until", "done"}});
    CHECK(reading.follow);
    CHECK(reading.until == "done");
    CHECK_FALSE(reading.stream.full);
    // As a job script may say it to both ends: what follows the comma is the writer's.
    CHECK(reader_options({{"full", "spill,discard-newest"}}).stream.full == FullPolicy::Spill);
}

TEST_CASE("those of the other end are refused, or left aside") {
    CHECK_THROWS_WITH_AS(reader_options({{"queue_steps", "3"}}), doctest::Contains("'queue_steps'"),
                         InvalidArgument);
    CHECK_FALSE(reader_options({{"queue_steps", "3"}}, OtherEnd::Ignored).follow);
    CHECK(writer_options({{"start", "?"}, {"queue_steps", "3"}}, OtherEnd::Ignored)
              .stream.queue_steps == 3);
    CHECK_THROWS_WITH_AS(writer_options({{"queue_step", "3"}}, OtherEnd::Ignored),
                         doctest::Contains("Did you mean 'queue_steps'?"), InvalidArgument);
}

TEST_CASE("what makes no sense is refused by the name of the option") {
    for (const NamedOptions& said :
         {NamedOptions{{"queue_steps", "many"}}, NamedOptions{{"queue_steps", "3x"}},
          NamedOptions{{"queue_steps", ""}}, NamedOptions{{"encrypt", "perhaps"}},
          NamedOptions{{"full", "throw-away"}}, NamedOptions{{"step_timeout", "1 s"}}}) {
        CHECK_THROWS_WITH_AS(writer_options(said),
                             doctest::Contains(("option " + said.begin()->first + ": ").c_str()),
                             InvalidArgument);
    }
    for (const char* bytes : {"1 XB", "1 X", "two MiB", "1 Qi", "3x "}) {
        CHECK_THROWS_WITH_AS(writer_options({{"queue_bytes", bytes}}),
                             doctest::Contains(text("got '", bytes, "'").c_str()), InvalidArgument);
    }
}
