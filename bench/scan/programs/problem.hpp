// SPDX-License-Identifier: Apache-2.0
/// What the bench asks of a program, as NAME=VALUE arguments, and how the program answers: one line
/// of JSON. Shared by all contestants that are written in C++; no code of Fluvial.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

using Extents = std::array<std::int64_t, 4>;  // time, level, lat, lon

enum class Task { Summary, Steps, Histogram };

struct Problem {
    std::map<std::string, std::string> words;
    std::string file;
    Task task = Task::Summary;
    std::uint64_t offset = 0;  // of the variable in the file, unless it is chunked
    bool swapped = false;
    Extents shape{}, start{}, count{};
    Extents chunk{};     // zeros: contiguous
    std::string chunks;  // file of (offset, bytes) pairs, row-major over the grid of chunks
    int bins = 0;
    float low = 0, high = 0;
    int repeats = 1;
    std::int64_t block = 1 << 20;
    std::vector<int> cores;  // of each rank; empty: anywhere

    std::string word(const std::string& name, const std::string& otherwise) const {
        const auto found = words.find(name);
        return found == words.end() ? otherwise : found->second;
    }
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        return std::stoll(word(name, std::to_string(otherwise)));
    }
};

inline std::vector<std::int64_t> parse_list(const std::string& text) {
    std::vector<std::int64_t> found;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t length = 0;
        found.push_back(std::stoll(text.substr(at), &length));
        at += length + 1;
    }
    return found;
}

inline Extents parse_extents(const std::string& text) {
    const auto list = parse_list(text);
    if (list.size() != 4) {
        throw std::invalid_argument("four extents expected, got '" + text + "'");
    }
    return {list[0], list[1], list[2], list[3]};
}

inline Problem parse(int argc, char** argv) {
    Problem problem;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto equals = argument.find('=');
        if (equals == std::string::npos) {
            throw std::invalid_argument("NAME=VALUE expected, got '" + argument + "'");
        }
        problem.words[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    problem.file = problem.word("file", "");
    const std::string task = problem.word("task", "summary");
    problem.task = task == "summary" ? Task::Summary
                   : task == "steps" ? Task::Steps
                                     : Task::Histogram;
    problem.offset = static_cast<std::uint64_t>(problem.number("offset", 0));
    problem.swapped = problem.number("swapped", 0) != 0;
    problem.shape = parse_extents(problem.word("shape", ""));
    problem.start = parse_extents(problem.word("start", "0,0,0,0"));
    problem.count = parse_extents(problem.word("count", problem.word("shape", "")));
    problem.chunk = parse_extents(problem.word("chunk", "0,0,0,0"));
    problem.chunks = problem.word("chunks", "");
    problem.bins = static_cast<int>(problem.number("bins", 100));
    problem.low = static_cast<float>(std::stod(problem.word("low", "0")));
    problem.high = static_cast<float>(std::stod(problem.word("high", "1")));
    problem.repeats = static_cast<int>(problem.number("repeats", 1));
    problem.block = problem.number("block", 1 << 20);
    for (const auto core : parse_list(problem.word("cores", ""))) {
        problem.cores.push_back(static_cast<int>(core));
    }
    return problem;
}

/// What a task gives; ranks add theirs up.
struct Answer {
    double sum = 0;
    float min = std::numeric_limits<float>::infinity();
    float max = -std::numeric_limits<float>::infinity();
    std::vector<double> steps;          // of Steps: the sum of each selected time step
    std::vector<std::uint64_t> counts;  // of Histogram
};

inline std::int64_t volume(const Extents& extents) {
    return extents[0] * extents[1] * extents[2] * extents[3];
}

/// This rank's part [begin, end) of `count` things.
inline std::pair<std::int64_t, std::int64_t> share(std::int64_t count, int rank, int ranks) {
    return {count * rank / ranks, count * (rank + 1) / ranks};
}

inline void pin(const Problem& problem, int rank) {
    if (!problem.cores.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(problem.cores[static_cast<std::size_t>(rank) % problem.cores.size()], &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

inline double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// VmHWM, in bytes.
inline std::int64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            return std::strtoll(line.c_str() + 6, nullptr, 10) * 1024;
        }
    }
    return 0;
}

template <class Values>
void print_list(const char* name, const Values& values, const char* format) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::printf(i == 0 ? "" : ", ");
        std::printf(format, values[i]);
    }
    std::printf("], ");
}

/// The one line that the bench reads.
inline void print(const Problem& problem, const Answer& answer, const std::vector<double>& seconds,
                  const std::vector<double>& memory, const std::string& more = "") {
    std::printf("{");
    print_list("seconds", seconds, "%.9g");
    print_list("memory", memory, "%.0f");
    if (problem.task == Task::Summary) {
        std::printf("\"sum\": %.17g, \"min\": %.17g, \"max\": %.17g, ", answer.sum,
                    static_cast<double>(answer.min), static_cast<double>(answer.max));
    } else if (problem.task == Task::Steps) {
        print_list("steps", answer.steps, "%.17g");
    } else {
        const std::vector<unsigned long long> counts(answer.counts.begin(), answer.counts.end());
        print_list("counts", counts, "%llu");
    }
    std::printf("%s\"elements\": %lld}\n", more.c_str(),
                static_cast<long long>(volume(problem.count)));
    std::fflush(stdout);
}
