// SPDX-License-Identifier: Apache-2.0
/// Tasks that do nothing, by bare MPI or by a pool: tasks way=serial count=100000 repeats=3.
/// Rank 0 prints a line of JSON.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "../../stream/programs/words.hpp"
#include "bare.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/mpi/environment.hpp"
#include "optimum.hpp"

using namespace fluvial;

namespace {

/// Messages that this rank has sent and received.
std::atomic<std::int64_t> messages{0};

}  // namespace

// MPI's profiling interface: these stand before the library's own.
extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
    ++messages;
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

extern "C" int MPI_Imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
                          MPI_Request* request) {
    ++messages;
    return PMPI_Imrecv(data, count, type, message, request);
}

namespace {

constexpr const char* nothing = "nothing";
constexpr const char* number = "number";
constexpr const char* sleep_s = "sleep";

Bytes no_operation(const flow::Call&) {
    return {};
}

Bytes eight_bytes(const flow::Call& call) {
    ByteWriter out;
    out.put(call.task);
    return out.take();
}

Bytes nap(const flow::Call& call) {
    const auto seconds = ByteReader(call.inputs.front()).get<double>();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return {};
}

flow::Pool open_pool(const Words& words) {
    flow::Functions functions;
    functions.add(nothing, no_operation, flow::Runs::Parallel);
    functions.add(number, eight_bytes);
    functions.add(sleep_s, nap, flow::Runs::Parallel);
    flow::PoolOptions options;
    options.lead_works = words.number("lead_works", 0) != 0;
    options.servers = static_cast<int>(words.number("servers", 1));
    return {mpi::Comm::duplicate(MPI_COMM_WORLD), functions, options};
}

flow::TaskOptions on(int ranks) {
    flow::TaskOptions options;
    options.ranks = {ranks, ranks, {}};
    return options;
}

double resident_bytes() {
    std::ifstream file("/proc/self/statm");
    double total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Tasks a second from the first call of submit() until all are done, of tasks on `width` ranks.
void rate(flow::Pool& pool, const Words& words, int width) {
    const std::int64_t count = words.number("count", 100'000);
    std::vector<double> rates;
    for (std::int64_t repeat = -1; repeat < words.number("repeats", 3); ++repeat) {
        const std::int64_t tasks = repeat < 0 ? count / 10 + 1 : count;
        std::vector<flow::Future> futures;
        futures.reserve(static_cast<std::size_t>(tasks));
        const double begin = now();
        for (std::int64_t task = 0; task < tasks; ++task) {
            futures.push_back(pool.submit(nothing, {}, on(width)));
        }
        for (const flow::Future& future : futures) {
            future.get();
        }
        if (repeat >= 0) {  // the first is to warm up
            rates.push_back(static_cast<double>(tasks) / (now() - begin));
        }
    }
    std::printf("{\"rates\": [");
    for (std::size_t i = 0; i < rates.size(); ++i) {
        std::printf("%s%.1f", i > 0 ? ", " : "", rates[i]);
    }
    std::printf("]}\n");
}

/// Nanoseconds a task that submitting takes, its acceptance by the server included, while the queue
/// grows; then the memory that is left of each when all are done.
void queue(flow::Pool& pool, const Words& words) {
    const std::int64_t count = words.number("count", 1'000'000);
    constexpr std::int64_t block = 10'000;
    ByteWriter seconds;
    seconds.put(words.real("hold", 3));
    for (int worker = 0; worker < pool.workers(); ++worker) {
        pool.submit(sleep_s, {Bytes(seconds.view().begin(), seconds.view().end())});
    }
    pool.wait_for_some(0.01);
    const double before = resident_bytes();
    std::vector<flow::Future> futures(static_cast<std::size_t>(count));
    std::printf("{\"submit_ns\": [");
    for (std::int64_t done = 0; done < count; done += block) {
        const double begin = now();
        for (std::int64_t task = done; task < done + block; ++task) {
            futures[static_cast<std::size_t>(task)] = pool.submit(nothing, {});
        }
        pool.wait_for_some(0);
        std::printf("%s%.1f", done > 0 ? ", " : "", (now() - begin) * 1e9 / block);
    }
    const double waiting = resident_bytes();
    for (const flow::Future& future : futures) {
        future.get();
    }
    const double kept = resident_bytes();
    const auto tasks = static_cast<double>(count);
    std::printf("], \"waiting_bytes\": %.1f, \"finished_bytes\": %.1f}\n",
                (waiting - before) / tasks, (kept - before) / tasks);
}

/// Memory that each finished task takes while the program keeps its future, of tasks that are
/// submitted in windows, so that few wait at a time: growth of the resident memory, the futures'
/// vector included.
void kept(flow::Pool& pool, const Words& words) {
    const std::int64_t count = words.number("count", 1'000'000);  // of whole windows
    const char* const function = words.text("result", "empty") == "number" ? number : nothing;
    constexpr std::int64_t window = 1'000;
    std::vector<flow::Future> futures;
    const auto run = [&](std::int64_t tasks) {
        for (std::int64_t task = 1; task <= tasks; ++task) {
            futures.push_back(pool.submit(function, {}));
            if (task % window == 0) {
                std::for_each(futures.end() - window, futures.end(),
                              [](const flow::Future& future) { future.get(); });
            }
        }
    };
    futures.reserve(static_cast<std::size_t>(count + 10 * window));
    run(10 * window);  // what the pool itself needs
    const double before = resident_bytes();
    run(count);
    std::printf("{\"kept_bytes\": %.1f}\n",
                (resident_bytes() - before) / static_cast<double>(count));
}

/// Busy part of the ranks' time in `rounds` rounds of tasks that sleep, as Figures 5 and 6 have it;
/// of few tasks of varying widths also the most that it can be. And the lead's messages.
void utilisation(flow::Pool& pool, const Words& words) {
    const bool varying = words.text("widths", "fixed") == "varying";
    const std::int64_t rounds = words.number("rounds", 3);
    std::mt19937 random(static_cast<unsigned>(words.number("seed", 1)));
    std::vector<optimum::Task> tasks;
    const int fixed = static_cast<int>(words.number("width", 1));
    for (std::int64_t round = 0; round < rounds; ++round) {
        for (int width = 1; varying && width <= pool.workers(); width *= 2) {
            tasks.push_back({width, std::uniform_real_distribution<>(0.5, 1.5)(random)});
        }
        for (int first = 0; !varying && first + fixed <= pool.workers(); first += fixed) {
            tasks.push_back({fixed, words.real("sleep", 1)});
        }
    }
    std::ranges::shuffle(tasks, random);
    double busy_s = 0;
    std::vector<flow::Future> futures;
    const std::int64_t before = messages;
    const double begin = now();
    for (const optimum::Task& task : tasks) {
        ByteWriter seconds;
        seconds.put(task.seconds);
        flow::TaskOptions options = on(task.width);
        options.cost_s = task.seconds;
        futures.push_back(pool.submit(sleep_s, {seconds.take()}, options));
        busy_s += task.seconds * task.width;
    }
    for (const flow::Future& future : futures) {
        future.get();
    }
    const double took = now() - begin;
    const double best = varying ? optimum::seconds(tasks, pool.workers()) : 0;
    std::printf(
        "{\"utilisation\": %.5f, \"best\": %.5f, \"seconds\": %.4f, \"tasks\": %zu, "
        "\"messages\": %lld}\n",
        busy_s / (took * pool.workers()), best > 0 ? busy_s / (best * pool.workers()) : 1, took,
        tasks.size(), static_cast<long long>(messages - before));
}

void with_pool(const std::string& way, const Words& words) {
    flow::Pool pool = open_pool(words);
    if (pool.leads()) {
        if (way == "serial") {
            rate(pool, words, 1);
        } else if (way == "wide") {
            rate(pool, words, 2);
        } else if (way == "queue") {
            queue(pool, words);
        } else if (way == "kept") {
            kept(pool, words);
        } else {
            utilisation(pool, words);
        }
    }
    pool.close();
}

int with_bare_mpi(const std::string& way, const Words& words) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const std::int64_t count = words.number("count", 100'000);
    const auto run = [&](std::int64_t tasks) {
        return way == "free"      ? bare::create_and_free(tasks)
               : way == "barrier" ? bare::barriers(tasks)
                                  : bare::master_and_worker(tasks, words.number("depth", 1));
    };
    run(count / 10 + 1);
    std::string rates;
    for (std::int64_t repeat = 0; repeat < words.number("repeats", 3); ++repeat) {
        const double rate = static_cast<double>(count) / run(count);
        rates += (rates.empty() ? "" : ", ") + std::to_string(rate);
    }
    if (rank == 0) {
        std::printf("{\"rates\": [%s]}\n", rates.c_str());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const Words words(argc, argv);
    const std::string way = words.text("way", "serial");
    const bool bare = way == "free" || way == "barrier" || way == "master";
    const bool threads = words.number("lead_works", 0) != 0;
    const mpi::Environment environment(&argc, &argv,
                                       bare      ? mpi::ThreadLevel::Single
                                       : threads ? mpi::ThreadLevel::Multiple
                                                 : mpi::ThreadLevel::Funneled);
    if (bare) {
        return with_bare_mpi(way, words);
    }
    with_pool(way, words);
    return 0;
}
