// SPDX-License-Identifier: Apache-2.0
/// The traditional MPI ways: read what is this rank's, loop over it, MPI_Reduce.
///
///   way=collective    MPI-IO, a file view of the selection, MPI_File_read_all
///   way=view          the same view, but MPI_File_read: each rank for itself, with data sieving
///   way=independent   MPI-IO, MPI_File_read_at of each contiguous run
///   way=pnetcdf       ncmpi_get_vara_float_all (where compiled with WITH_PNETCDF)
///
/// steps=0 reads the whole share at once, steps=N so many time steps a call. Words that begin with
/// "hint." are given to MPI-IO as hints. The loop is what one writes down; the compiler is asked
/// for -O3 and this machine's instructions.
#include <bit>
#include <cstring>
#include <memory>

#include <mpi.h>
#ifdef WITH_PNETCDF
#include <pnetcdf.h>
#endif

#include "problem.hpp"

namespace {

void check(int code, const char* what) {
    if (code != 0) {
        throw std::runtime_error(std::string(what) + " failed with code " + std::to_string(code));
    }
}

class Info {
  public:
    explicit Info(const Problem& problem) {
        MPI_Info_create(&info_);
        for (const auto& [name, value] : problem.words) {
            if (name.starts_with("hint.")) {
                MPI_Info_set(info_, name.substr(5).c_str(), value.c_str());
            }
        }
    }
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    ~Info() { MPI_Info_free(&info_); }
    MPI_Info get() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

/// Reads this rank's part of the selection, some time steps a call, into an array of floats.
class Reader {
  public:
    virtual ~Reader() = default;
    /// Steps [first, first + steps) of the file; none is allowed and still collective.
    virtual void read(std::int64_t first, std::int64_t steps, float* to) = 0;
    /// Whether the floats are in the other byte order.
    virtual bool swapped() const { return false; }
};

class MpiFile {
  public:
    MpiFile(const Problem& problem, const Info& info) {
        check(MPI_File_open(MPI_COMM_WORLD, problem.file.c_str(), MPI_MODE_RDONLY, info.get(),
                            &file_),
              "MPI_File_open");
    }
    MpiFile(const MpiFile&) = delete;
    MpiFile& operator=(const MpiFile&) = delete;
    ~MpiFile() { MPI_File_close(&file_); }
    MPI_File get() const { return file_; }

  private:
    MPI_File file_ = MPI_FILE_NULL;
};

class ViewReader : public Reader {
  public:
    ViewReader(const Problem& problem, const Info& info, bool collective)
        : problem_(problem), file_(problem, info), collective_(collective) {}
    bool swapped() const override { return problem_.swapped; }
    void read(std::int64_t first, std::int64_t steps, float* to) override {
        const auto whole = ints(problem_.shape);
        Extents extent = problem_.count, start = problem_.start;
        extent[0] = std::max<std::int64_t>(steps, 1);
        start[0] = std::min(first, problem_.shape[0] - extent[0]);
        const auto part = ints(extent), from = ints(start);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        check(MPI_Type_create_subarray(4, whole.data(), part.data(), from.data(), MPI_ORDER_C,
                                       MPI_FLOAT, &type),
              "MPI_Type_create_subarray");
        MPI_Type_commit(&type);
        check(MPI_File_set_view(file_.get(), static_cast<MPI_Offset>(problem_.offset), MPI_FLOAT,
                                type, "native", MPI_INFO_NULL),
              "MPI_File_set_view");
        const auto count = steps == 0 ? 0 : volume(extent);
        check((collective_ ? MPI_File_read_all : MPI_File_read)(
                  file_.get(), to, static_cast<int>(count), MPI_FLOAT, MPI_STATUS_IGNORE),
              "MPI_File_read");
        MPI_Type_free(&type);
    }

  private:
    static std::array<int, 4> ints(const Extents& extents) {
        return {static_cast<int>(extents[0]), static_cast<int>(extents[1]),
                static_cast<int>(extents[2]), static_cast<int>(extents[3])};
    }
    const Problem& problem_;
    MpiFile file_;
    bool collective_;
};

class IndependentReader : public Reader {
  public:
    IndependentReader(const Problem& problem, const Info& info)
        : problem_(problem), file_(problem, info) {}
    bool swapped() const override { return problem_.swapped; }
    void read(std::int64_t first, std::int64_t steps, float* to) override {
        const auto& [times, levels, lats, lons] = problem_.shape;
        const bool rows = problem_.count[3] == lons;
        const bool planes = rows && problem_.count[2] == lats;
        const bool whole = planes && problem_.count[1] == levels;
        for (std::int64_t step = first; step < first + steps; ++step) {
            for (std::int64_t level = 0; level < (whole ? 1 : problem_.count[1]); ++level) {
                for (std::int64_t lat = 0; lat < (rows ? 1 : problem_.count[2]); ++lat) {
                    const std::int64_t row = (step * levels + problem_.start[1] + level) * lats +
                                             problem_.start[2] + lat;
                    const std::int64_t count = whole  ? levels * lats * lons
                                               : rows ? problem_.count[2] * lons
                                                      : problem_.count[3];
                    check(
                        MPI_File_read_at(file_.get(),
                                         static_cast<MPI_Offset>(problem_.offset) +
                                             4 * (row * lons + problem_.start[3]),
                                         to, static_cast<int>(count), MPI_FLOAT, MPI_STATUS_IGNORE),
                        "MPI_File_read_at");
                    to += count;
                }
            }
        }
    }

  private:
    const Problem& problem_;
    MpiFile file_;
};

#ifdef WITH_PNETCDF
class PnetcdfReader : public Reader {
  public:
    PnetcdfReader(const Problem& problem, const Info& info) : problem_(problem) {
        check(ncmpi_open(MPI_COMM_WORLD, problem.file.c_str(), NC_NOWRITE, info.get(), &file_),
              "ncmpi_open");
        check(ncmpi_inq_varid(file_, "temperature", &variable_), "ncmpi_inq_varid");
    }
    PnetcdfReader(const PnetcdfReader&) = delete;
    PnetcdfReader& operator=(const PnetcdfReader&) = delete;
    ~PnetcdfReader() override { ncmpi_close(file_); }
    void read(std::int64_t first, std::int64_t steps, float* to) override {
        const MPI_Offset start[] = {std::min(first, problem_.shape[0] - 1), problem_.start[1],
                                    problem_.start[2], problem_.start[3]};
        const MPI_Offset count[] = {steps, problem_.count[1], problem_.count[2], problem_.count[3]};
        check(ncmpi_get_vara_float_all(file_, variable_, start, count, to),
              "ncmpi_get_vara_float_all");
    }

  private:
    const Problem& problem_;
    int file_ = -1, variable_ = -1;
};
#endif

std::unique_ptr<Reader> make_reader(const Problem& problem, const Info& info) {
    const std::string way = problem.word("way", "collective");
    if (way == "collective" || way == "view") {
        return std::make_unique<ViewReader>(problem, info, way == "collective");
    }
    if (way == "independent") {
        return std::make_unique<IndependentReader>(problem, info);
    }
#ifdef WITH_PNETCDF
    if (way == "pnetcdf") {
        return std::make_unique<PnetcdfReader>(problem, info);
    }
#endif
    throw std::invalid_argument("way=" + way + " is not among those compiled");
}

template <bool Swapped>
float value_at(const float* values, std::int64_t i) {
    if constexpr (Swapped) {
        std::uint32_t bits;
        std::memcpy(&bits, values + i, 4);
        return std::bit_cast<float>(__builtin_bswap32(bits));
    } else {
        return values[i];
    }
}

/// The computation on what one call has read.
template <bool Swapped>
void compute(const Problem& problem, const float* values, std::int64_t first, std::int64_t steps,
             Answer& to) {
    const std::int64_t step_size = volume(problem.count) / problem.count[0];
    switch (problem.task) {
        case Task::Summary:
            for (std::int64_t i = 0; i < steps * step_size; ++i) {
                const float value = value_at<Swapped>(values, i);
                to.sum += value;
                to.min = value < to.min ? value : to.min;
                to.max = value > to.max ? value : to.max;
            }
            break;
        case Task::Steps:
            for (std::int64_t step = 0; step < steps; ++step) {
                double sum = 0;
                for (std::int64_t i = 0; i < step_size; ++i) {
                    sum += value_at<Swapped>(values, step * step_size + i);
                }
                to.steps[static_cast<std::size_t>(first + step - problem.start[0])] = sum;
            }
            break;
        case Task::Histogram: {
            const float scale = static_cast<float>(problem.bins) / (problem.high - problem.low);
            for (std::int64_t i = 0; i < steps * step_size; ++i) {
                const float value = value_at<Swapped>(values, i);
                if (value >= problem.low && value <= problem.high) {
                    const int bin = static_cast<int>((value - problem.low) * scale);
                    ++to.counts[static_cast<std::size_t>(std::min(bin, problem.bins - 1))];
                }
            }
            break;
        }
    }
}

Answer reduced(const Problem& problem, Answer mine) {
    Answer all = mine;
    const auto reduce = [](void* from, void* to, std::size_t count, MPI_Datatype type, MPI_Op op) {
        MPI_Reduce(from, to, static_cast<int>(count), type, op, 0, MPI_COMM_WORLD);
    };
    switch (problem.task) {
        case Task::Summary:
            reduce(&mine.sum, &all.sum, 1, MPI_DOUBLE, MPI_SUM);
            reduce(&mine.min, &all.min, 1, MPI_FLOAT, MPI_MIN);
            reduce(&mine.max, &all.max, 1, MPI_FLOAT, MPI_MAX);
            break;
        case Task::Steps:
            reduce(mine.steps.data(), all.steps.data(), mine.steps.size(), MPI_DOUBLE, MPI_SUM);
            break;
        case Task::Histogram:
            reduce(mine.counts.data(), all.counts.data(), mine.counts.size(), MPI_UINT64_T,
                   MPI_SUM);
            break;
    }
    return all;
}

/// The task once: open, read, loop, reduce.
Answer run(const Problem& problem, int rank, int ranks) {
    const Info info(problem);
    const auto reader = make_reader(problem, info);
    const auto [begin, end] = share(problem.count[0], rank, ranks);
    const std::int64_t largest = (problem.count[0] + ranks - 1) / ranks;
    const std::int64_t asked = problem.number("steps", 0);
    const std::int64_t at_once = asked > 0 ? asked : largest;
    const std::int64_t step_size = volume(problem.count) / problem.count[0];
    const auto values = std::make_unique_for_overwrite<float[]>(
        static_cast<std::size_t>(std::min(at_once, largest) * step_size));
    Answer mine;
    mine.steps.resize(problem.task == Task::Steps ? problem.count[0] : 0);
    mine.counts.resize(problem.task == Task::Histogram ? problem.bins : 0);
    for (std::int64_t done = 0; done < largest; done += at_once) {
        const std::int64_t now = std::max<std::int64_t>(0, std::min(at_once, end - begin - done));
        const std::int64_t first = problem.start[0] + std::min(begin + done, end);
        reader->read(first, now, values.get());
        if (reader->swapped()) {
            compute<true>(problem, values.get(), first, now, mine);
        } else {
            compute<false>(problem, values.get(), first, now, mine);
        }
    }
    return reduced(problem, std::move(mine));
}

int measure(const Problem& problem) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pin(problem, rank);
    std::vector<double> seconds;
    Answer answer;
    for (int repeat = 0; repeat < problem.repeats; ++repeat) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = now();
        answer = run(problem, rank, ranks);
        const double mine = now() - begin;
        double longest = 0;
        MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        seconds.push_back(longest);
    }
    const double peak = static_cast<double>(peak_memory());
    std::vector<double> memory(static_cast<std::size_t>(ranks));
    MPI_Gather(&peak, 1, MPI_DOUBLE, memory.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        print(problem, answer, seconds, memory);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        measure(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "traditional: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
