// SPDX-License-Identifier: Apache-2.0
// How far reductions are from merely reading the memory: prints one JSON object a line, in the form
// of ./run bench.
//
//     compute_bandwidth [MiB] [runs]
//
// Contestants alternate (read, operators, read, …); the peer is a loop that only xors all bytes
// together.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/reduction.hpp"
#include "fluvial/compute/registry.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

#if defined(__x86_64__)
#define READ_TARGET __attribute__((target("avx2"), noinline))
#else
#define READ_TARGET __attribute__((noinline))
#endif

typedef std::uint64_t Words __attribute__((vector_size(32), aligned(8), may_alias));

/// Reads everything; eight independent sums hide the latency.
READ_TARGET std::uint64_t read_all(const std::uint64_t* words, std::size_t count) {
    Words sum[8] = {};
    const auto* vectors = reinterpret_cast<const Words*>(words);
    for (std::size_t i = 0; i + 8 <= count / 4; i += 8) {
        for (std::size_t u = 0; u < 8; ++u) {
            sum[u] ^= vectors[i + u];
        }
    }
    const Words all =
        ((sum[0] ^ sum[1]) ^ (sum[2] ^ sum[3])) ^ ((sum[4] ^ sum[5]) ^ (sum[6] ^ sum[7]));
    return all[0] ^ all[1] ^ all[2] ^ all[3];
}

struct Case {
    const char* name;
    std::vector<const char*> operators;
    Coordinates shape;
    std::vector<int> over;
    bool swapped = false;
    int repeats = 1;  ///< of the same memory, which then comes from a cache
};

/// The time that this thread had on a core, so that other programs on the machine disturb less.
double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const std::function<void()>& work) {
    const double begin = cpu_seconds();
    work();
    return cpu_seconds() - begin;
}

double median(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

void measure(const Case& c, DType dtype, const std::vector<std::uint64_t>& words, int runs) {
    const std::size_t bytes = static_cast<std::size_t>(volume_of(c.shape)) * size_of(dtype);
    std::vector<Reduction::Entry> entries;
    for (const char* name : c.operators) {
        Options options;
        if (std::string_view(name) == "histogram") {
            std::vector<double> edges;
            for (int i = 0; i <= 100; ++i) {
                edges.push_back(1 + 0.01 * i);
            }
            options["edges"] = edges;
        } else if (std::string_view(name) == "quantile") {
            options["q"] = std::vector<double>{0.5};
        }
        entries.push_back({name, make_operator(name, options), {}});
    }
    const Domain domain = make_domain(whole(c.shape), c.over, {dtype});
    ArrayView view(words.data(), dtype, c.shape);
    view.swapped = c.swapped;
    volatile std::uint64_t sink = 0;
    std::vector<double> reading, reducing;
    for (int run = 0; run <= runs; ++run) {
        const double read = seconds([&] {
            for (int i = 0; i < c.repeats; ++i) {
                sink = read_all(words.data(), bytes / 8);
            }
        });
        const double reduce = seconds([&] {
            Reduction reduction(entries, domain);
            for (int i = 0; i < c.repeats; ++i) {
                reduction.absorb({{&view, 1}, whole(c.shape)});
            }
            sink = reduction.finish().size();
        });
        if (run > 0) {  // the first warms up
            reading.push_back(read / c.repeats);
            reducing.push_back(reduce / c.repeats);
        }
    }
    const double ours = static_cast<double>(bytes) / median(reducing) * 1e-9;
    const double peer = static_cast<double>(bytes) / median(reading) * 1e-9;
    std::printf(
        "{\"bench\": \"compute\", \"case\": \"%s %s\", \"params\": {\"bytes\": %zu, \"isa\": "
        "\"%s\"}, "
        "\"metric\": \"throughput\", \"unit\": \"GB/s\", \"median\": %.2f, \"min\": %.2f, \"max\": "
        "%.2f, "
        "\"runs\": %d, \"peer\": \"read loop\", \"peer_median\": %.2f, \"ratio\": %.2f}\n",
        c.name, std::string(name_of(dtype)).c_str(), bytes, std::string(kernels().isa).c_str(),
        ours,
        static_cast<double>(bytes) / *std::max_element(reducing.begin(), reducing.end()) * 1e-9,
        static_cast<double>(bytes) / *std::min_element(reducing.begin(), reducing.end()) * 1e-9,
        runs, peer, ours / peer);
    std::fflush(stdout);
}

/// Blocks that were just read from a file: in the second-level cache, often in the other byte
/// order.
void measure_blocks(std::vector<std::uint64_t> words, int runs) {
    const Index n = 65536;  // 256 KiB of float32
    const std::vector<const char*> all = {"sum", "min", "max", "mean"};
    for (const bool swapped : {false, true}) {
        const int repeats = 400;
        for (const Case& c : std::initializer_list<Case>{
                 {"sum+min+max+mean in cache", all, {n}, {}, false, repeats},
                 {"mean over last in cache", {"mean"}, {4, n / 4}, {1}, false, repeats},
                 {"sum+min+max+mean over first in cache", all, {64, n / 64}, {0}, false, repeats},
                 {"histogram in cache", {"histogram"}, {n}, {}, false, repeats / 8}}) {
            Case here = c;
            here.swapped = swapped;
            const std::string name = std::string(swapped ? "swapped " : "") + c.name;
            here.name = name.c_str();
            measure(here, DType::Float32, words, runs);
        }
        auto* const elements = reinterpret_cast<std::uint32_t*>(words.data());
        for (Index i = 0; i < n; ++i) {
            elements[i] = __builtin_bswap32(elements[i]);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto mebibytes = static_cast<std::size_t>(argc > 1 ? std::atol(argv[1]) : 256);
    const int runs = argc > 2 ? std::atoi(argv[2]) : 10;
    std::vector<std::uint64_t> words(mebibytes * 1024 * 1024 / 8);
    for (std::size_t i = 0; i < words.size(); ++i) {  // two floats or one double between 1 and 2
        words[i] = 0x3ff0'0000'3f80'0000u | (i * 0x9e37'79b9'7f4a'7c15u & 0x000f'ffff'007f'ffffu);
    }
    for (const DType dtype : {DType::Float32, DType::Float64}) {
        const Index n = static_cast<Index>(words.size() * 8 / size_of(dtype));
        const std::vector<const char*> all = {"sum", "min", "max", "mean"};
        for (const Case& c : std::initializer_list<Case>{
                 {"sum", {"sum"}, {n}, {}},
                 {"min", {"min"}, {n}, {}},
                 {"max", {"max"}, {n}, {}},
                 {"mean", {"mean"}, {n}, {}},
                 {"sum+min+max+mean", all, {n}, {}},
                 {"argmax", {"argmax"}, {n}, {}},
                 {"variance", {"variance"}, {n}, {}},
                 {"quantile", {"quantile"}, {n}, {}},
                 {"quantile over first", {"quantile"}, {n / 1024, 1024}, {0}},
                 {"sum+min+max+mean over last", all, {n / 1024, 1024}, {1}},
                 {"sum+min+max+mean over first", all, {1024, n / 1024}, {0}},
                 {"mean of (n, 3) over first", {"mean"}, {n / 3, 3}, {0}}}) {
            measure(c, dtype, words, runs);
        }
    }
    measure_blocks(words, runs);
}
