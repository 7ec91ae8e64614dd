// SPDX-License-Identifier: Apache-2.0
/// Several threads on one Writer and one Reader; also run under the thread sanitizer
/// (CONTRIBUTING.md).
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/reduce.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using stage::Reader;
using stage::ReadStep;
using stage::Writer;
using stage::WriteStep;

namespace {

/// A writer, and a reader that has attached to it.
struct Pair {
    explicit Pair(stage::WriterOptions options = {}, const std::string& transport = "")
        : directory(std::filesystem::temp_directory_path() /
                    text("fluvial_threads_", ::getpid(), "_", ++count)) {
        std::filesystem::create_directory(directory);
        options.readers = 0;
        options.directory = directory;
        writer = std::make_unique<Writer>("threads", mpi::Comm(), options);
        reader = std::make_unique<Reader>(
            "threads", mpi::Comm(),
            stage::ReaderOptions{.directory = directory, .transport = transport});
    }
    ~Pair() { std::filesystem::remove_all(directory); }

    static inline int count = 0;
    std::filesystem::path directory;
    std::unique_ptr<Writer> writer;
    std::unique_ptr<Reader> reader;
};

/// What the work threw, "" for nothing.
std::string error_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "";
}

void run_all(int threads, const std::function<void(int)>& work) {
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i) {
        all.emplace_back(work, i);
    }
    for (std::thread& thread : all) {
        thread.join();
    }
}

const double* numbers(const ArrayView& view) {
    return reinterpret_cast<const double*>(view.data);
}

template <class Done>
void wait_until(Done done) {
    while (!done()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void put_part(WriteStep& step, const std::string& name, int part, int parts, double value,
              Index length) {
    const std::vector<double> values(static_cast<std::size_t>(length), value);
    step.put(name, ArrayView(values.data(), DType::Float64, {length}), {part * length},
             {parts * length});
}

constexpr int threads = 4;
constexpr Index length = 3000;  // 24,000 bytes: above the threshold of the streaming copies

}  // namespace

TEST_CASE("threads put into one step, each dataset of it complete and right") {
    Pair pair;
    constexpr int rounds = 20;
    std::thread writing([&] {
        for (int round = 0; round < rounds; ++round) {
            WriteStep step = pair.writer->begin_step();
            run_all(threads, [&](int i) {
                put_part(step, "shared", i, threads, round, length);
                const MutableArrayView span =
                    step.span(text("own-", i), DType::Float64, {{0}, {10}}, {10},
                              {{"from", std::int64_t{i}}});
                std::fill_n(reinterpret_cast<double*>(span.data), 10, i);
                static_cast<void>(pair.writer->stats());
            });
            step.end();
        }
        pair.writer->close();
    });
    int seen = 0;
    while (const auto step = pair.reader->next()) {
        const stage::Data all = step->dataset("shared").read();
        const double* values = numbers(all.view);
        CHECK(std::count(values, values + threads * length, seen) == threads * length);
        for (int i = 0; i < threads; ++i) {
            CHECK(numbers(step->dataset(text("own-", i)).read().view)[9] == i);
        }
        ++seen;
    }
    writing.join();
    CHECK(seen == rounds);
    CHECK(pair.writer->stats().bytes_copied == rounds * threads * length * sizeof(double));
}

TEST_CASE("threads read and reduce one step side by side, also past its end") {
    Pair pair;
    constexpr int rounds = 10;
    std::thread writing([&] {
        for (int round = 0; round < rounds; ++round) {
            WriteStep step = pair.writer->begin_step();
            for (int part = 0; part < 2; ++part) {
                put_part(step, "x", part, 2, round, length);
            }
            step.end();
        }
        pair.writer->close();
    });
    stage::ReduceRequest maximum;
    maximum.datasets = {"x"};
    maximum.entries = {{"max", compute::make_operator("max"), {0}}};
    for (int round = 0; round < rounds; ++round) {
        auto step = pair.reader->next();
        REQUIRE(step);
        std::vector<std::thread> others;
        std::atomic<int> begun = 0;
        for (int i = 0; i < threads; ++i) {
            others.emplace_back([&, round, step] {
                const stage::StagedDataset dataset = step->dataset("x");
                for (int turn = 0; turn < 20; ++turn) {
                    try {
                        const stage::Data part = dataset.read(select({{10}, {100}}));
                        const stage::Data all = dataset.read();
                        const auto sums = stage::reduce(*step, maximum, mpi::Comm());
                        begun = begun + (turn == 0 ? 1 : 0);
                        if (numbers(part.view)[99] != round) {
                            ::_exit(3);
                        }
                        if (numbers(all.view)[2 * length - 1] != round) {
                            ::_exit(4);
                        }
                        if (sums.at("max").at("value").as<double>()[0] != round) {
                            ::_exit(5);
                        }
                    } catch (const InvalidArgument&) {
                        return;  // the step has ended
                    }
                }
            });
        }
        wait_until([&] { return begun > 0; });
        step->finish();
        for (std::thread& thread : others) {
            thread.join();
        }
    }
    CHECK_FALSE(pair.reader->next());
    writing.join();
}

TEST_CASE("a reader that is closed by another thread stops waiting") {
    Pair pair;
    std::string said;
    std::atomic<bool> waits = false;
    std::thread waiting([&] {
        said = error_of([&] {
            waits = true;
            pair.reader->next();
        });
    });
    wait_until([&] { return waits.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.reader->close();
    waiting.join();
    CHECK(said.find("closed by another thread") != std::string::npos);
    CHECK(error_of([&] { pair.reader->next(); }).find("the stream is closed") != std::string::npos);
    CHECK(pair.reader->stats().steps_read == 0);
    pair.writer->close();
}

TEST_CASE("one thread at a time waits for a step") {
    Pair pair;
    std::atomic<int> refused = 0;
    run_all(threads, [&](int) {
        const std::string said = error_of([&] { pair.reader->next(); });
        if (said.find("another thread waits") != std::string::npos && ++refused == threads - 1) {
            pair.reader->close();
        }
    });
    CHECK(refused == threads - 1);
    pair.writer->close();
}

TEST_CASE("a writer that is closed by another thread stops waiting for room") {
    Pair pair({.queue_steps = 1});
    pair.writer->begin_step().end();
    std::string said;
    std::thread waiting([&] { said = error_of([&] { pair.writer->begin_step(); }); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.writer->close();
    waiting.join();
    CHECK(said.find("closed by another thread") != std::string::npos);
    CHECK(pair.reader->next());
    CHECK_FALSE(pair.reader->next());
}

TEST_CASE("a put that waits for room ends when another thread closes, and so does its step") {
    Pair pair({.queue_bytes = 100'000});
    {
        WriteStep step = pair.writer->begin_step();
        put_part(step, "x", 0, 1, 0, 10'000);
        step.end();
    }
    std::string put, end;
    std::atomic<bool> begun = false;
    std::thread waiting([&] {
        WriteStep step = pair.writer->begin_step();
        begun = true;
        put = error_of([&] { put_part(step, "x", 0, 1, 1, 10'000); });
        end = error_of([&] { step.end(); });
    });
    wait_until([&] { return begun.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pair.writer->close();
    waiting.join();
    CHECK(put.find("closed by another thread") != std::string::npos);
    CHECK(end.find("closed by another thread") != std::string::npos);
    CHECK(pair.writer->stats().steps_spoiled == 1);
    CHECK(numbers(pair.reader->next()->dataset("x").read().view)[0] == 0);
    CHECK_FALSE(pair.reader->next());
}

TEST_CASE("closing a writer waits for copies that are under way") {
    for (int round = 0; round < 20; ++round) {
        Pair pair;
        std::atomic<bool> begun = false;
        std::thread writing([&] {
            error_of([&] {
                WriteStep step = pair.writer->begin_step();
                for (int i = 0; i < 1000; ++i) {
                    put_part(step, text("x", i % 7), 0, 1, i, length);
                    begun = true;
                }
                step.end();
            });
        });
        wait_until([&] { return begun.load(); });
        pair.writer->close();
        writing.join();
        const bool whole = pair.writer->stats().steps_written == 1;
        CHECK(whole == pair.reader->next().has_value());
    }
}

TEST_CASE("the thread that closes second waits for the first, and all that is left is an error") {
    Pair pair;
    pair.writer->begin_step().end();
    run_all(threads, [&](int i) { i % 2 == 0 ? pair.writer->close() : pair.reader->close(); });
    CHECK(error_of([&] { pair.writer->begin_step(); }).find("closed") != std::string::npos);
    CHECK(error_of([&] { pair.writer->set_attributes({}); }).find("closed") != std::string::npos);
    CHECK(pair.writer->stats().steps_written == 1);
}

TEST_CASE("a view outlives its reader, closed by another thread") {
    Pair pair;
    {
        WriteStep step = pair.writer->begin_step();
        put_part(step, "x", 0, 1, 7, length);
        step.end();
    }
    const stage::Data view = pair.reader->next()->dataset("x").read();
    CHECK_FALSE(view.copied);
    std::thread([&] { pair.reader->close(); }).join();
    pair.writer->close();
    CHECK(std::count(numbers(view.view), numbers(view.view) + length, 7) == length);
}

TEST_CASE("threads put arrays together into one step, and each of them is there whole") {
    Pair pair;
    WriteStep step = pair.writer->begin_step();
    constexpr int threads = 4, arrays = 200;
    run_all(threads, [&](int thread) {
        std::vector<double> values(arrays);
        std::vector<std::string> names;
        std::vector<ArrayView> views;
        for (int i = 0; i < arrays; ++i) {
            values[static_cast<std::size_t>(i)] = 1000.0 * thread + i;
            names.push_back(text("t", thread, "/", i));
            views.emplace_back(&values[static_cast<std::size_t>(i)], DType::Float64,
                               Coordinates{1});
        }
        std::vector<stage::NamedArray> together;
        for (std::size_t i = 0; i < names.size(); ++i) {
            together.push_back({names[i], &views[i]});
        }
        step.put(together, Coordinates{thread}, Coordinates{threads});
        step.put(std::span<const stage::NamedArray>{});
    });
    step.end();
    const auto read = pair.reader->next();
    REQUIRE(read->names().size() == threads * arrays);
    int equal = 0;
    for (int thread = 0; thread < threads; ++thread) {
        for (int i = 0; i < arrays; ++i) {
            const auto got = read->dataset(text("t", thread, "/", i)).read({{thread}, {1}, {1}});
            equal += *reinterpret_cast<const double*>(got.view.data) == 1000.0 * thread + i;
        }
    }
    CHECK(equal == threads * arrays);
}

TEST_CASE("of arrays that are put together none is there when one of them cannot be") {
    Pair pair;
    WriteStep step = pair.writer->begin_step();
    const double values[4] = {1, 2, 3, 4};
    const ArrayView fits(values, DType::Float64, {2}), long_one(values, DType::Float64, {4});
    const std::vector<stage::NamedArray> arrays = {{"a", &fits}, {"b", &long_one}};
    const auto error = error_of([&] { step.put(arrays, Coordinates{0}, Coordinates{2}); });
    CHECK(error.find("'b'") != std::string::npos);
    step.put("a", long_one, {0}, {4});
    step.end();
    const auto read = pair.reader->next();
    CHECK(read->names() == std::vector<std::string>{"a"});
}

TEST_CASE("threads write steps that another one reads by TCP, and others ask for the figures") {
    stage::WriterOptions options;
    options.network = "lo";
    options.queue_steps = 8;
    Pair pair(options, "tcp");
    constexpr int steps = 400;
    std::atomic<bool> over{false};
    std::thread asks([&] {
        while (!over) {
            static_cast<void>(pair.writer->stats());
            static_cast<void>(pair.reader->stats());
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    std::thread writes([&] {
        for (int index = 0; index < steps; ++index) {
            // Small ones travel whole with their message, and large ones do not.
            const Index length = index % 7 == 0 ? 100'000 : 10 + index % 3;
            const std::vector<double> values(static_cast<std::size_t>(length), index);
            WriteStep step = pair.writer->begin_step();
            step.put("x", ArrayView(values.data(), DType::Float64, {length}), {0}, {length});
            step.end();
        }
        pair.writer->close();
    });
    int right = 0, index = 0;
    for (; auto step = pair.reader->next(); ++index) {
        const auto got = step->dataset("x").read();
        const auto length = static_cast<Index>(got.view.size());
        right += length == (index % 7 == 0 ? 100'000 : 10 + index % 3) &&
                 std::count(numbers(got.view), numbers(got.view) + length, index) == length;
    }
    writes.join();
    over = true;
    asks.join();
    CHECK(index == steps);
    CHECK(right == steps);
}
