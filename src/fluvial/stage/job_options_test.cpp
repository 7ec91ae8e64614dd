// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/job_options.hpp"

#include <cstdlib>
#include <fstream>

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// The environment says this as long as it lives.
class Environment {
  public:
    explicit Environment(const std::string& value) {
        ::setenv("FLUVIAL_OPTIONS", value.c_str(), 1);
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() { ::unsetenv("FLUVIAL_OPTIONS"); }
};

SeriesWriterOptions writing(const std::string& job) {
    SeriesWriterOptions options;
    options.job = job;
    return options;
}

std::string path_with(const Folder& folder, const std::string& name, const std::string& content) {
    if (world_rank() == 0) {
        std::ofstream(folder / name) << content;
    }
    world().barrier();
    return folder / name;
}

}  // namespace

TEST_CASE("options of all series, and over them those of one by its name") {
    const std::string text =
        R"({"queue_steps": 2, "engine": "stage", "encrypt": true, "spill": null,
        "start": "next", "step_timeout": 2.5, "series": {"melt": {"engine": "hdf5",
        "queue_bytes": "1.5 KiB", "path": "out/melt%T.h5"}, "run.h5": {"path": "else.h5"}}})";
    const auto melt = with_job_options("melt", writing(text));
    CHECK(melt.path == "out/melt%T.h5");
    CHECK(melt.options.engine == "hdf5");
    CHECK(melt.options.stream.queue_steps == 2);
    CHECK(melt.options.stream.queue_bytes == 1536);
    CHECK(melt.options.stream.step_timeout_s == 2.5);
    CHECK(melt.options.stream.encrypt);
    CHECK(with_job_options("run.h5", writing(text)).path == "else.h5");
    const auto other = with_job_options(std::nullopt, writing(text));
    CHECK(other.options.engine == "stage");
    CHECK_FALSE(other.path);

    SeriesReaderOptions reading;
    reading.job = text;
    CHECK(with_job_options("melt", reading).options.stream.start == Start::Next);
    reading.job = R"({"follow": "done", "raw": {"dtype": "f8"}})";
    const auto followed = with_job_options("t.h5", reading);
    CHECK(followed.options.follow);
    CHECK(followed.options.until == "done");
    CHECK(followed.of_python == "raw of options");
    CHECK_THROWS_WITH_AS(refuse_options_of_python(followed.of_python),
                         doctest::Contains("for Python alone: got raw of options"),
                         InvalidArgument);
}

TEST_CASE("what the program says holds before it, and both before the environment") {
    const Environment environment(R"({"queue_steps": 7, "full": "spill,discard-newest"})");
    SeriesWriterOptions options;
    CHECK(with_job_options("melt", options).options.stream.queue_steps == 7);
    CHECK(with_job_options("melt", options).options.stream.on_full_disk ==
          FullPolicy::DiscardNewest);
    options.stream.queue_steps = 3;
    options.stream.full = FullPolicy::DiscardOldest;
    const auto chosen = with_job_options("melt", options).options;
    CHECK(chosen.stream.queue_steps == 3);
    CHECK(chosen.stream.full == FullPolicy::DiscardOldest);
    CHECK(chosen.stream.on_full_disk == FullPolicy::Block);
    options.job = R"({"reserve": 1})";
    CHECK(with_job_options("melt", options).options.stream.reserve == 1);
    CHECK(with_job_options("melt", options).options.stream.queue_steps == 3);
    CHECK(with_job_options("melt", writing("")).options.stream.queue_steps == 4);
}

TEST_CASE("a folder of retained steps is named, or that of the contact file") {
    const auto retain = [](const std::string& text) {
        return with_job_options("melt", writing(text)).options.stream.retain;
    };
    CHECK(retain(R"({"directory": "/somewhere", "retain": true})") == "/somewhere");
    CHECK(retain(R"({"retain": "/elsewhere"})") == "/elsewhere");
    CHECK(retain(R"({"retain": false})").empty());
}

TEST_CASE("files of options, and what is wrong with them") {
    const Folder folder;
    const std::string json = path_with(folder, "run.json", R"({"reserve": 2})");
    CHECK(with_job_options("melt", writing(json)).options.stream.reserve == 2);
    for (const char* name : {"run.txt", "run.toml"}) {  // JSON, whatever it is called
        const std::string path = path_with(folder, name, "\xef\xbb\xbf {\"reserve\": 2}");
        CHECK(with_job_options("melt", writing(path)).options.stream.reserve == 2);
    }
    const auto refused = [](const std::string& job, const char* message) {
        CAPTURE(job);
        CHECK_THROWS_WITH_AS(with_job_options("melt", writing(job)), doctest::Contains(message),
                             Error);
    };
    CHECK_THROWS_AS(with_job_options("melt", writing("nowhere.toml")), NoSuchFile);
    refused("nowhere.toml", "no such file of options: got 'nowhere.toml'");
    refused(folder / "", "a folder");
    refused(path_with(folder, "list.json", "[1]"), "of another type: got a list");
    refused(R"({"qeue_steps": 2})", "unknown option in options: got 'qeue_steps'");
    refused(R"({"qeue_steps": 2})", "Did you mean 'queue_steps'?");
    refused(R"({"series": {"other": {"enigne": "hdf5"}}})",
            "in options, series 'other': got 'enigne'");
    refused(R"({"series": {"run": {"h5": {}}}})", "quoted, as in [series.\"run.h5\"]");
    refused(R"({"series": 3})", "'series' in options");
    refused(R"({"series": {"melt": 3}})", "'series.melt' in options");
    refused(R"({"engine": "hdf6"})", "unknown engine of options: got 'hdf6'");
    refused(R"({"engine": 5})", "engine in options");
    refused(R"({"path": 3})", "path in options");
    refused(R"({"engine": )", "options: not JSON in line 1");
    refused(R"({"queue_steps": "many"})", "options: option queue_steps: ");
    refused(R"({"queue_steps": 2.5})", "option queue_steps: ");
    refused(R"({"queue_bytes": "2 XiB"})", "option queue_bytes: ");
    refused(R"({"queue_bytes": "9999999999 TiB"})", "option queue_bytes: ");
    refused(R"({"until": "done"})", "unknown option in options: got 'until'");
}
