// SPDX-License-Identifier: Apache-2.0
/// Fluvial's scan from C++: the same tasks through scan::run, one thread a rank.
#include <cstring>

#include <mpi.h>

#include "fluvial/compute/registry.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/scan/scan.hpp"
#include "problem.hpp"

namespace compute = fluvial::compute;
namespace mpi = fluvial::mpi;
namespace scan = fluvial::scan;
namespace store = fluvial::store;

namespace {

scan::Request make_request(const Problem& problem, const store::File& file) {
    scan::Request request;
    request.inputs.push_back({{file.dataset(problem.word("variable", "temperature"))}, {}});
    const auto coordinates = [](const Extents& e) {
        return fluvial::Coordinates{e[0], e[1], e[2], e[3]};
    };
    request.selection =
        fluvial::Selection{coordinates(problem.start), coordinates(problem.count), {1, 1, 1, 1}};
    const auto add = [&](const char* name, const compute::Options& options = {}) {
        request.entries.push_back({name, compute::make_operator(name, options), {}});
    };
    switch (problem.task) {
        case Task::Summary:
            add("sum");
            add("min");
            add("max");
            add("mean");
            break;
        case Task::Steps:
            add("mean");
            request.over = {1, 2, 3};
            break;
        case Task::Histogram: {
            std::vector<double> edges;
            for (int i = 0; i <= problem.bins; ++i) {
                edges.push_back(problem.low + (problem.high - problem.low) * i / problem.bins);
            }
            add("histogram", {{"edges", edges}});
            break;
        }
    }
    return request;
}

std::vector<double> numbers(const compute::Array& array) {
    std::vector<double> found;
    const std::size_t size = array.dtype == fluvial::DType::Float32 ? 4 : 8;
    for (std::size_t i = 0; i < array.bytes.size() / size; ++i) {
        found.push_back(array.dtype == fluvial::DType::Float64 ? array.as<double>()[i]
                        : array.dtype == fluvial::DType::Float32
                            ? array.as<float>()[i]
                            : static_cast<double>(array.as<std::int64_t>()[i]));
    }
    return found;
}

Answer answer_of(const Problem& problem, const scan::Outcome& outcome) {
    const auto& results = outcome.groups.front();
    const auto value = [&](const char* name) { return numbers(results.at(name).at("value")); };
    Answer answer;
    switch (problem.task) {
        case Task::Summary:
            answer.sum = value("sum").front();
            answer.min = static_cast<float>(value("min").front());
            answer.max = static_cast<float>(value("max").front());
            break;
        case Task::Steps:
            for (const double mean : value("mean")) {
                answer.steps.push_back(mean * static_cast<double>(volume(problem.count)) /
                                       static_cast<double>(problem.count[0]));
            }
            break;
        case Task::Histogram:
            for (const double count : value("histogram")) {
                answer.counts.push_back(static_cast<std::uint64_t>(count));
            }
            break;
    }
    return answer;
}

std::string describe(const scan::Stats& stats) {
    return "\"bytes_read\": " + std::to_string(stats.bytes_read) +
           ", \"reads\": " + std::to_string(stats.reads) +
           ", \"bytes_sent\": " + std::to_string(stats.bytes_sent) +
           ", \"metadata_bytes\": " + std::to_string(stats.metadata_bytes) + ", ";
}

void measure(const Problem& problem) {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    pin(problem, comm.rank());
    scan::Options options;
    options.threads = static_cast<int>(problem.number("threads", 1));
    options.buffer_bytes = problem.number("buffer", 0);
    options.read_ahead_bytes = problem.number("read_ahead", options.read_ahead_bytes);
    const double peak_before = static_cast<double>(peak_memory());
    std::vector<double> seconds;
    scan::Outcome outcome;
    for (int repeat = 0; repeat < problem.repeats; ++repeat) {
        comm.barrier();
        const double begin = now();
        const auto file = store::open_file(problem.file);
        outcome = scan::run(make_request(problem, *file), options, comm);
        comm.barrier();
        seconds.push_back(now() - begin);
    }
    const double memory[] = {static_cast<double>(peak_memory()), peak_before};
    const auto all = comm.allgather(std::as_bytes(std::span(memory)));
    std::vector<double> peaks, before;
    for (const auto& bytes : all) {
        double pair[2];
        std::memcpy(pair, bytes.data(), sizeof pair);
        peaks.push_back(pair[0]);
        before.push_back(pair[1]);
    }
    if (comm.rank() == 0) {
        std::string more = describe(outcome.stats) + "\"memory_before\": [";
        for (std::size_t i = 0; i < before.size(); ++i) {
            more += (i == 0 ? "" : ", ") + std::to_string(static_cast<std::int64_t>(before[i]));
        }
        print(problem, answer_of(problem, outcome), seconds, peaks, more + "], ");
    }
    comm.close();
}

}  // namespace

int main(int argc, char** argv) {
    mpi::Environment environment(&argc, &argv);
    try {
        measure(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "engine: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
