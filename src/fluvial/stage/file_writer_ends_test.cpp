// SPDX-License-Identifier: Apache-2.0
// Writers of files that end otherwise than by close(): in a child by fork, and killed.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"
#include "fluvial/stage/file_writer.hpp"
#include "fluvial/stage/file_writer_fixture.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/formats.hpp"
#include "fluvial/store/iterations.hpp"
#include "fluvial/store/numbered_files.hpp"
#include "fluvial/store/progress_mark.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

/// A dataset of one process without MPI: 3000 times the same number.
void put_alone(FileWriteStep& step, int value) {
    const std::vector<double> elements(3000, value);
    step.put("x", ArrayView(elements.data(), DType::Float64, {3000}), {0}, {3000});
}

/// A step of it, which ends or is given up; returns what the dataset says in the file.
void step_alone(FileWriter& writer, const Attributes& attributes, bool ends) {
    FileWriteStep step = writer.begin_step({});
    const std::vector<double> elements(3, 1);
    step.put("x", ArrayView(elements.data(), DType::Float64, {3}), {0}, {3}, attributes);
    ends ? step.end() : step.abandon();
}

/// The number of each step.
std::vector<double> values_alone(const std::string& name) {
    std::vector<double> found;
    const auto steps = [&](const std::string& path) {
        for (const auto& iteration : store::iterations_of(store::open_file(path))) {
            found.push_back(all_of(*iteration.contents, "x").back());
        }
    };
    if (!store::has_number(name)) {
        steps(name);
        return found;
    }
    for (const auto& [number, path] : store::numbered_files(name)) {
        steps(path);
    }
    return found;
}

/// Does `work` in a child by fork, which ends without destructors; returns how it ended.
template <class Work>
int status_of_child(Work work) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::_exit(work());
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

template <class Call>
bool refused(Call call) {
    try {
        call();
    } catch (const InvalidArgument& error) {
        return std::string(error.what()).find("belongs to another process") != std::string::npos;
    }
    return false;
}

}  // namespace

TEST_CASE("a writer that rests for a follower serves meanwhile") {
    const Folder folder;
    const std::string name = folder / "x.h5";
    store::ProgressMark mark(name);
    const store::WriterRests rests(name);
    int turns = 0;
    const progress::Served served([&] { return ++turns, false; }, false);
    {
        const store::ProgressMark::Changing changing(mark);
    }
    CHECK(turns > 0);
}

TEST_CASE("a child by fork cannot use the series, and its end changes nothing") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run%T.h5"}) {
        FileWriter series(folder / name, mpi::Comm());
        for (int i = 0; i < 3; ++i) {
            FileWriteStep step = series.begin_step();
            put_alone(step, i);
            const int status = status_of_child([&] {
                series.close();
                const bool begins = !refused([&] { series.begin_step(); });
                const bool ends = !refused([&] { step.end(); });
                {
                    const FileWriter gone = std::move(series);
                }
                return (begins ? 1 : 0) + (ends ? 2 : 0);
            });
            CHECK(status == 0);
            step.end();
        }
        series.close();
        CHECK(values_alone(folder / name) == std::vector<double>{0, 1, 2});
    }
    CHECK(folder.names() == std::vector<std::string>{"run.h5", "run0.h5", "run1.h5", "run2.h5"});
}

TEST_CASE("a killed writer leaves the steps that had ended") {
    const Folder folder;
    for (const std::string name : {"run.h5", "run%T.h5", "packed.h5"}) {
        FileWriterOptions options;
        if (name == "packed.h5" && store::is_built(store::Filter::Kind::Deflate)) {
            options.compression = "gzip";
        }
        const int status = status_of_child([&] {
            FileWriter series(folder / name, mpi::Comm(), options);
            for (int i = 0;; ++i) {
                FileWriteStep step = series.begin_step();
                put_alone(step, i);
                if (i == 2) {
                    ::raise(SIGKILL);
                }
                step.end();
            }
            return 0;
        });
        CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
        CHECK(values_alone(folder / name) == std::vector<double>{0, 1});
    }
}

TEST_CASE("attributes of a step that is given up do not hold for later ones") {
    const Folder folder;
    const std::string name = folder / "kept.h5";
    FileWriter writer(name, mpi::Comm());
    step_alone(writer, {{"bad", 1.0}}, false);
    step_alone(writer, {{"good", 1.0}}, true);
    step_alone(writer, {{"bad", 1.0}}, false);
    step_alone(writer, {}, true);
    writer.close();
    for (const auto& iteration : store::iterations_of(store::open_file(name))) {
        const Attributes said = iteration.contents->dataset("x")->attributes();
        CHECK(said.contains("good"));
        CHECK_FALSE(said.contains("bad"));
    }
}

TEST_CASE("a FIFO is not replaced by a file, and a stream does not take the name of a folder") {
    const Folder folder;
    for (const char* engine : {"hdf5", "netcdf", "netcdf4"}) {
        const std::string name = folder / "pipe.h5";
        REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
        CHECK_THROWS_WITH_AS(FileWriter(name, mpi::Comm(), {.engine = engine}),
                             doctest::Contains("pipe.h5', which is a FIFO"), InvalidArgument);
        CHECK(folder.names() == std::vector<std::string>{"pipe.h5"});
        REQUIRE(::unlink(name.c_str()) == 0);
    }
    CHECK_THROWS_WITH_AS(FileWriter("/dev/null", mpi::Comm(), {}), doctest::Contains("a device"),
                         InvalidArgument);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::create_directory(folder / "notes");
    std::ofstream(folder / "notes.txt") << "mine";
    std::filesystem::current_path(std::filesystem::path(folder / "notes").parent_path());
    CHECK_THROWS_WITH_AS(SeriesWriter("notes", mpi::Comm()),
                         doctest::Contains("the name of a folder that is here"), InvalidArgument);
    CHECK_THROWS_WITH_AS(SeriesWriter("notes.txt", mpi::Comm()),
                         doctest::Contains("the name of a file that is here"), InvalidArgument);
    CHECK_THROWS_WITH_AS(SeriesWriter("run.hdf", mpi::Comm()),
                         doctest::Contains("cannot be written from C++"), InvalidArgument);
    for (const char* name : {"RUN.H5", "run.Nc4"}) {  // files, whatever the case of the letters
        SeriesWriter(name, mpi::Comm()).close();
        CHECK(std::filesystem::is_regular_file(name));
    }
    std::filesystem::current_path(before);
}
