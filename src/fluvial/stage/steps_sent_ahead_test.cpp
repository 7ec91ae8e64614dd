// SPDX-License-Identifier: Apache-2.0
/// A writer and a reader by TCP, where steps leave the queue when they are sent: what the reader
/// has in its hands meanwhile stays, and what it has not taken goes when it leaves.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

struct Folder {
    Folder()
        : path(std::filesystem::temp_directory_path() / text("steps_sent_ahead_", ::getpid())) {
        std::filesystem::create_directory(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
};

WriterOptions writing(const Folder& folder) {
    WriterOptions options;
    options.readers = 0;
    options.directory = folder.path;
    options.network = "127.0.0.1";
    options.step_timeout_s = 20;
    return options;
}

ReaderOptions reading(const Folder& folder) {
    ReaderOptions options;
    options.directory = folder.path;
    options.transport = "tcp";
    options.step_timeout_s = 20;
    return options;
}

/// Each number of a step is that of the step.
void write(Writer& writer, int number, Index count) {
    const std::vector<double> values(static_cast<std::size_t>(count), number);
    WriteStep step = writer.begin_step();
    step.put("x", ArrayView(values.data(), DType::Float64, {count}), {0}, {count});
    step.end();
}

bool is_right(ReadStep& step) {
    const Data data = step.dataset("x").read();
    const auto* values = reinterpret_cast<const double*>(data.view.data);
    const auto expected = static_cast<double>(step.index());
    return std::all_of(values, values + data.view.size(),
                       [&](double value) { return value == expected; });
}

void nap(double seconds) {
    sleep_ns(static_cast<std::int64_t>(seconds * 1e9));
}

}  // namespace

TEST_CASE("a reader that leaves takes what it was sent with it") {
    const Folder folder;
    Writer writer("s", mpi::Comm(), writing(folder));
    constexpr Index count = 100'000;
    int written = 0;
    for (; written < 4; ++written) {
        write(writer, written, count);
    }
    {
        Reader reader("s", mpi::Comm(), reading(folder));
        for (int i = 0; i < 2; ++i) {
            auto step = reader.next();
            CHECK(is_right(*step));
        }
        nap(0.2);
        write(writer, written++, count);
        nap(0.2);  // it is sent with its data, and those before are not all read
        reader.close();
    }
    wait_until([&] { return writer.stats().queue_depth == 0; }, Deadline(10),
               "steps stay in the queue for nobody");
    CHECK(writer.stats().readers_lost == 0);
    writer.close();
}

TEST_CASE("few of large steps are sent ahead, though the first came without its data") {
    const Folder folder;
    WriterOptions options = writing(folder);
    options.queue_steps = 2;
    Writer writer("s", mpi::Comm(), options);
    Reader reader("s", mpi::Comm(), reading(folder));
    std::atomic<int> written = 0;
    std::atomic<bool> stop = false;
    std::thread thread([&] {
        for (; written < 60 && !stop; ++written) {
            write(writer, written, 200'000);
        }
    });
    constexpr int read = 3, ahead = 4, queued = 2;
    for (int number = 0; number < read; ++number) {
        auto step = reader.next();
        CHECK(is_right(*step));
    }
    nap(1);  // in which the writer comes as far as it may
    CHECK(written <= read + ahead + queued + 1);
    stop = true;
    reader.close();
    thread.join();
    writer.close();
}

TEST_CASE("what came along with a step is counted once, however often it is read") {
    for (const Index count : {1'000, 20'000}) {  // whole, and what was read of the step before
        CAPTURE(count);
        const Folder folder;
        Writer writer("s", mpi::Comm(), writing(folder));
        Reader reader("s", mpi::Comm(), reading(folder));
        constexpr int steps = 4;
        for (int number = 0; number < steps; ++number) {
            write(writer, number, count);
            auto step = reader.next();
            for (int again = 0; again < 3; ++again) {
                CHECK(is_right(*step));
                if (number == steps - 1) {  // before what is read has come along, it is fetched
                    step->dataset("x").read({{5}, {10}, {2}});
                }
            }
            step.reset();
            nap(0.2);  // in which the writer's host hears what was read
        }
        CHECK(reader.stats().bytes_received == static_cast<std::uint64_t>(steps * 8 * count));
        reader.close();
        writer.close();
    }
}

TEST_CASE("steps that overflowed to a disk are there until they are read, whatever is sent later") {
    for (const Index count : {5'000, 50'000}) {
        CAPTURE(count);
        const Folder folder;
        WriterOptions options = writing(folder);
        options.full = FullPolicy::Spill;
        options.spill = folder.path;
        Writer writer("s", mpi::Comm(), options);
        Reader reader("s", mpi::Comm(), reading(folder));
        int written = 0;
        for (; written < 12; ++written) {
            write(writer, written, count);
        }
        CHECK(writer.stats().steps_spilled > 0);
        for (int read = 0; read < 16; ++read) {
            auto step = reader.next();
            for (int more = 0; more < 2 && written < 24; ++more) {
                nap(0.01);
                write(writer, written++, count);
            }
            nap(0.05);
            CHECK(step->index() == static_cast<std::uint64_t>(read));
            CHECK(is_right(*step));
        }
        reader.close();
        writer.close();
    }
}

TEST_CASE("a reader that leaves amid steps has not died") {
    for (int round = 0; round < 60; ++round) {
        const Folder folder;
        Writer writer("s", mpi::Comm(), writing(folder));
        std::atomic<bool> stop = false;
        Reader reader("s", mpi::Comm(), reading(folder));
        std::thread thread([&] {
            for (int number = 0; !stop; ++number) {
                write(writer, number, round % 2 == 0 ? 1'000 : 8'000);
            }
        });
        for (int read = 0; read < 40; ++read) {
            auto step = reader.next();
            CHECK(is_right(*step));
        }
        reader.close();
        nap(0.02);
        stop = true;
        thread.join();
        CHECK(writer.stats().readers_lost == 0);
        writer.close();
    }
}
