// SPDX-License-Identifier: Apache-2.0
/// The limit: two processes that read the file's blocks in order with pread into a buffer that the
/// cache holds, and run a bare loop on each; chunks are inflated with libdeflate. It is told where
/// the variable lies, knows the task when it is compiled, and checks nothing. task=read only reads.
#include <atomic>
#include <memory>

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "problem.hpp"
#include "vector_loops.hpp"

namespace {

constexpr int kRanksMax = 64, kStepsMax = 4096, kBinsMax = 127;
constexpr int kSlabs = 8;  // of a step, each read by one process

/// What the processes share: results, and a counter of runs or chunks taken.
struct Shared {
    std::atomic<int> arrived[2];
    std::atomic<std::int64_t> next;
    double seconds_end[kRanksMax];
    double memory[kRanksMax];
    loops::Summary summary[kRanksMax];
    double steps[kRanksMax][kStepsMax];
    std::uint64_t counts[kRanksMax][kBinsMax];
};

struct Worker {
    const Problem& problem;
    Shared& shared;
    int rank, ranks;
    bool reads_only;
    int file = -1;
    std::unique_ptr<std::byte[]> buffer{};
    loops::Summation<true> summation{};
    loops::Summation<false> step_sum{};
    std::int64_t step_begun = -1;
    loops::Histogram histogram;
    std::uint64_t counts[kBinsMax] = {};

    void read(std::uint64_t offset, std::size_t bytes, std::byte* to) const {
        while (bytes > 0) {
            const auto got = pread(file, to, bytes, static_cast<off_t>(offset));
            if (got <= 0) {
                throw std::runtime_error("cannot read " + problem.file);
            }
            to += got;
            offset += static_cast<std::uint64_t>(got);
            bytes -= static_cast<std::size_t>(got);
        }
    }

    template <class Source>
    void absorb(const Source& source, std::size_t at, std::size_t count, std::int64_t step) {
        if (reads_only) {
            return;
        }
        switch (problem.task) {
            case Task::Summary:
                summation.absorb(source, at, count);
                break;
            case Task::Steps:
                if (step != step_begun) {
                    end_step();
                    step_begun = step;
                }
                step_sum.absorb(source, at, count);
                break;
            case Task::Histogram:
                histogram.absorb(source, at, count);
                break;
        }
    }

    void end_step() {
        if (step_begun >= 0) {
            shared.steps[rank][step_begun - problem.start[0]] += step_sum.result().sum;
            step_sum = {};
        }
    }

    void absorb_rows(const std::byte* data, std::size_t row_bytes, std::size_t rows,
                     std::int64_t step) {
        const auto count = static_cast<std::size_t>(problem.count[3]);
        for (std::size_t row = 0; row < rows; ++row) {
            if (problem.swapped) {
                absorb(loops::Contiguous<true>{data + row * row_bytes}, 0, count, step);
            } else {
                absorb(loops::Contiguous<false>{data + row * row_bytes}, 0, count, step);
            }
        }
    }

    /// Runs of rows as wide as the variable, in the order of the file, to whichever process is
    /// free: a step's selected rows on each level, or slabs of the step.
    void contiguous() {
        const auto& [times, levels, lats, lons] = problem.shape;
        const bool whole_rows = problem.count[3] == lons;
        const bool whole_step =
            whole_rows && problem.count[2] == lats && problem.count[1] == levels;
        const std::int64_t runs = whole_step ? kSlabs : problem.count[1];
        buffer = std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(problem.block + 4 * lons));
        for (;;) {
            const std::int64_t number = shared.next.fetch_add(1);
            const std::int64_t step = problem.start[0] + number / runs, run = number % runs;
            if (step >= problem.start[0] + problem.count[0]) {
                return;
            }
            if (whole_step) {
                const auto [first, end] = share(levels * lats, static_cast<int>(run), kSlabs);
                read_rows(step * levels * lats + first, end - first, true, step);
            } else {
                const std::int64_t level = step * levels + problem.start[1] + run;
                read_rows(level * lats + problem.start[2], problem.count[2], whole_rows, step);
            }
        }
    }

    void read_rows(std::int64_t first, std::int64_t rows, bool whole_rows, std::int64_t step) {
        const std::int64_t lons = problem.shape[3], row_bytes = 4 * lons;
        const std::int64_t at_once = std::max<std::int64_t>(1, problem.block / row_bytes);
        for (std::int64_t done = 0; done < rows; done += at_once) {
            const std::int64_t now = std::min(at_once, rows - done);
            const std::int64_t from = (first + done) * row_bytes + 4 * problem.start[3];
            const std::int64_t bytes = (now - 1) * row_bytes + 4 * problem.count[3];
            read(problem.offset + static_cast<std::uint64_t>(from), static_cast<std::size_t>(bytes),
                 buffer.get());
            if (whole_rows && problem.swapped) {
                absorb(loops::Contiguous<true>{buffer.get()}, 0,
                       static_cast<std::size_t>(now * lons), step);
            } else if (whole_rows) {
                absorb(loops::Contiguous<false>{buffer.get()}, 0,
                       static_cast<std::size_t>(now * lons), step);
            } else {
                absorb_rows(buffer.get(), static_cast<std::size_t>(row_bytes),
                            static_cast<std::size_t>(now), step);
            }
        }
    }

    /// Chunks in the order of the file, to whichever process is free.
    void chunked(const std::vector<std::array<std::uint64_t, 2>>& places);
    void absorb_chunk(const std::byte* data, const Extents& corner);
};

struct Chunk {
    std::uint64_t offset, bytes;
    Extents corner;
};

std::vector<Chunk> selected_chunks(const Problem& problem,
                                   const std::vector<std::array<std::uint64_t, 2>>& places) {
    Extents grid;
    for (std::size_t axis = 0; axis < 4; ++axis) {
        grid[axis] = (problem.shape[axis] + problem.chunk[axis] - 1) / problem.chunk[axis];
    }
    std::vector<Chunk> found;
    for (std::size_t number = 0; number < places.size(); ++number) {
        auto rest = static_cast<std::int64_t>(number);
        Extents corner;
        bool wanted = true;
        for (int axis = 3; axis >= 0; --axis) {
            const auto a = static_cast<std::size_t>(axis);
            corner[a] = rest % grid[a] * problem.chunk[a];
            rest /= grid[a];
            wanted = wanted && corner[a] < problem.start[a] + problem.count[a] &&
                     corner[a] + problem.chunk[a] > problem.start[a];
        }
        if (wanted) {
            found.push_back({places[number][0], places[number][1], corner});
        }
    }
    std::ranges::sort(found, {}, &Chunk::offset);
    return found;
}

void Worker::absorb_chunk(const std::byte* data, const Extents& corner) {
    const Extents& chunk = problem.chunk;
    Extents from, to;
    for (std::size_t axis = 0; axis < 4; ++axis) {
        from[axis] = std::max<std::int64_t>(0, problem.start[axis] - corner[axis]);
        to[axis] =
            std::min({chunk[axis], problem.start[axis] + problem.count[axis] - corner[axis]});
    }
    const loops::Shuffled source{data, static_cast<std::size_t>(volume(chunk))};
    const bool whole = to[3] - from[3] == chunk[3];
    for (auto t = from[0]; t < to[0]; ++t) {
        for (auto level = from[1]; level < to[1]; ++level) {
            const auto plane = (t * chunk[1] + level) * chunk[2];
            const auto rows = whole ? 1 : to[2] - from[2];
            for (std::int64_t row = 0; row < rows; ++row) {
                const auto at = (plane + from[2] + row) * chunk[3] + from[3];
                const auto count = whole ? (to[2] - from[2]) * chunk[3] : to[3] - from[3];
                absorb(source, static_cast<std::size_t>(at), static_cast<std::size_t>(count),
                       corner[0] + t);
            }
        }
    }
}

void Worker::chunked(const std::vector<std::array<std::uint64_t, 2>>& places) {
    const auto chunks = selected_chunks(problem, places);
    std::uint64_t most = 0;
    for (const auto& chunk : chunks) {
        most = std::max(most, chunk.bytes);
    }
    const auto raw_bytes = static_cast<std::size_t>(4 * volume(problem.chunk));
    buffer = std::make_unique_for_overwrite<std::byte[]>(most);
    const auto raw = std::make_unique_for_overwrite<std::byte[]>(raw_bytes);
    const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> inflater(
        libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
    for (;;) {
        const auto number = static_cast<std::size_t>(shared.next.fetch_add(1));
        if (number >= chunks.size()) {
            return;
        }
        read(chunks[number].offset, chunks[number].bytes, buffer.get());
        if (reads_only) {
            continue;
        }
        if (libdeflate_zlib_decompress(inflater.get(), buffer.get(), chunks[number].bytes,
                                       raw.get(), raw_bytes, nullptr) != LIBDEFLATE_SUCCESS) {
            throw std::runtime_error("a chunk of " + problem.file + " does not inflate");
        }
        absorb_chunk(raw.get(), chunks[number].corner);
    }
}

void meet(std::atomic<int>& arrived, int ranks) {
    ++arrived;
    while (arrived.load() < ranks) {
        _mm_pause();
    }
}

void work(const Problem& problem, Shared& shared, int rank, int ranks, bool reads_only,
          const std::vector<std::array<std::uint64_t, 2>>& places) {
    Worker worker{.problem = problem,
                  .shared = shared,
                  .rank = rank,
                  .ranks = ranks,
                  .reads_only = reads_only,
                  .file = open(problem.file.c_str(), O_RDONLY | O_CLOEXEC),
                  .histogram = loops::Histogram(problem.bins, problem.low, problem.high)};
    std::fill_n(shared.steps[rank], problem.count[0], 0.0);
    std::fill_n(shared.counts[rank], problem.bins, 0);
    if (places.empty()) {
        worker.contiguous();
    } else {
        worker.chunked(places);
    }
    worker.histogram.drain(shared.counts[rank]);
    worker.end_step();
    shared.summary[rank] = worker.summation.result();
    close(worker.file);
}

std::vector<std::array<std::uint64_t, 2>> read_places(const std::string& path) {
    std::vector<std::array<std::uint64_t, 2>> places;
    if (!path.empty()) {
        std::ifstream file(path, std::ios::binary);
        std::array<std::uint64_t, 2> place;
        while (file.read(reinterpret_cast<char*>(place.data()), sizeof place)) {
            places.push_back(place);
        }
    }
    return places;
}

}  // namespace

int main(int argc, char** argv) try {
    const Problem problem = parse(argc, argv);
    const bool reads_only = problem.number("reads_only", 0) != 0;
    const int ranks = static_cast<int>(problem.number("ranks", 2));
    if (ranks > kRanksMax || problem.count[0] > kStepsMax || problem.bins > kBinsMax) {
        throw std::invalid_argument("at most 64 ranks, 4096 steps and 127 bins");
    }
    const auto places = read_places(problem.chunks);
    auto& shared = *static_cast<Shared*>(
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::vector<pid_t> children;
    int rank = 0;
    for (int child = 1; child < ranks && rank == 0; ++child) {
        const pid_t pid = fork();
        if (pid == 0) {
            rank = child;
        }
        children.push_back(pid);
    }
    pin(problem, rank);
    std::vector<double> seconds;
    for (int repeat = 0; repeat < problem.repeats; ++repeat) {
        if (rank == 0) {
            shared.next = 0;
        }
        meet(shared.arrived[0], ranks * (repeat + 1));
        const double begin = now();
        work(problem, shared, rank, ranks, reads_only, places);
        meet(shared.arrived[1], ranks * (repeat + 1));
        seconds.push_back(now() - begin);
    }
    shared.memory[rank] = static_cast<double>(peak_memory());
    if (rank != 0) {
        return 0;
    }
    for (const pid_t pid : children) {
        int status = 0;
        if (waitpid(pid, &status, 0) != pid || status != 0) {
            throw std::runtime_error("a process of the limit failed");
        }
    }
    Answer answer;
    if (reads_only) {
        answer.min = answer.max = 0;
    }
    answer.steps.resize(problem.task == Task::Steps ? problem.count[0] : 0);
    answer.counts.resize(problem.task == Task::Histogram ? problem.bins : 0);
    std::vector<double> memory;
    for (int r = 0; r < ranks; ++r) {
        answer.sum += shared.summary[r].sum;
        if (!reads_only) {
            answer.min = std::min(answer.min, shared.summary[r].min);
            answer.max = std::max(answer.max, shared.summary[r].max);
        }
        for (std::size_t i = 0; i < answer.steps.size(); ++i) {
            answer.steps[i] += shared.steps[r][i];
        }
        for (std::size_t i = 0; i < answer.counts.size(); ++i) {
            answer.counts[i] += shared.counts[r][i];
        }
        memory.push_back(shared.memory[r]);
    }
    print(problem, answer, seconds, memory);
} catch (const std::exception& error) {
    std::fprintf(stderr, "limit: %s\n", error.what());
    return 1;
}
