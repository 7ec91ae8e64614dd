// SPDX-License-Identifier: Apache-2.0
/// Two processes on two cores, the memory that they share, and what they note down there.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

inline std::int64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline void pause_core() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Keeps its core, as a simulation does between two steps.
inline void compute_for(std::int64_t ns) {
    for (const std::int64_t end = now_ns() + ns; now_ns() < end;) {
        pause_core();
    }
}

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::_Exit(1);
}

inline void pin(int core) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (::sched_setaffinity(0, sizeof cores, &cores) != 0) {
        fail("cannot pin a process to core " + std::to_string(core));
    }
}

constexpr int latencies_max = 100'000;

/// What both sides of a contestant have besides what they exchange.
struct Notes {
    std::atomic<std::uint64_t> acknowledged;  ///< pings that the reader has
    std::atomic<std::uint32_t> ready;
    int latencies;
    std::int64_t latency_ns[latencies_max];
    std::int64_t begin_ns, end_ns;  ///< of the timed steps, at the reader
    std::int64_t put_ns;            ///< that the writer spent putting
    std::int64_t find_ns;           ///< that the reader spent finding its datasets
    double sum;
};

template <class T>
T* shared(std::size_t bytes = sizeof(T)) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED) {
        fail("no memory for what is shared");
    }
    return static_cast<T*>(memory);
}

struct Cores {
    int writer, reader;
};

/// Runs both sides to their ends: `write` here and `read` in a child, which dies with its parent.
template <class Write, class Read>
void run_both(const Cores& cores, Write write, Read read) {
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child < 0) {
        fail("cannot fork");
    }
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(cores.reader);
        read();
        std::_Exit(0);
    }
    pin(cores.writer);
    write();
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) {
        fail("the reading side failed");
    }
}

inline double sum_of(const double* values, std::size_t count) {
    double lanes[8] = {};
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
            lanes[lane] += values[i + lane];
        }
    }
    double total = 0;
    for (; i < count; ++i) {
        total += values[i];
    }
    for (const double lane : lanes) {
        total += lane;
    }
    return total;
}

struct Percentiles {
    double median_us, p99_us;
};

inline Percentiles percentiles_of(const Notes& notes) {
    std::vector<std::int64_t> sorted(notes.latency_ns, notes.latency_ns + notes.latencies);
    std::sort(sorted.begin(), sorted.end());
    const auto at = [&](double part) {
        const auto index = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
        return static_cast<double>(sorted[std::min(index, sorted.size() - 1)]) * 1e-3;
    };
    return {at(0.5), at(0.99)};
}

/// One figure, as a line of JSON.
inline void print(const char* who, const char* what, std::size_t size, double value) {
    std::printf("{\"who\": \"%s\", \"what\": \"%s\", \"size\": %zu, \"value\": %.9g}\n", who, what,
                size, value);
}

}  // namespace bench
