// SPDX-License-Identifier: Apache-2.0
/// The two sides of the experiments in "Collective Computing for Scientific Big Data Analysis",
/// section IV, on one file under one MPI, each rank with a selection of its own:
///
///   way=mpi       MPI_File_read_all of the whole share (two-phase collective), then the loop, then
///                 MPI_Reduce
///   way=scan      the same loop as an operator inside the read (Fluvial's scan)
///   way=kernel    only the loop, in the cache: its time an element and a unit of cost
///
/// cost=N makes the loop N dependent multiply-adds an element, or, with task=minimum, least value
/// and where it lies. split=time|lat says along which axis the ranks share the selection.
#include <cstring>
#include <memory>
#include <span>

#include <mpi.h>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/scan/scan.hpp"
#include "problem.hpp"

namespace compute = fluvial::compute;
namespace mpi = fluvial::mpi;
namespace scan = fluvial::scan;
namespace store = fluvial::store;

namespace {

/// Sum of f(x), where f is `cost` multiply-adds one after another: about x again.
double costly_sum(const float* values, std::int64_t count, int cost) {
    constexpr int kTogether = 64;
    double sum = 0;
    float x[kTogether];
    for (std::int64_t i = 0; i < count; i += kTogether) {
        const auto now = static_cast<int>(std::min<std::int64_t>(kTogether, count - i));
        std::memcpy(x, values + i, 4 * static_cast<std::size_t>(now));
        std::fill(x + now, x + kTogether, 0.0F);
        for (int k = 0; k < cost; ++k) {
            for (float& value : x) {
                value = value * 0.99999994F + 1e-6F;
            }
        }
        float lanes[8] = {};
        for (int j = 0; j < now; ++j) {
            lanes[j % 8] += x[j];
        }
        for (const float lane : lanes) {
            sum += lane;
        }
    }
    return sum;
}

class CostlyPartial final : public compute::StatePartial<CostlyPartial> {
  public:
    CostlyPartial(const compute::Domain& domain, int cost)
        : StatePartial("costly_sum", domain, compute::RunNeeds{fluvial::DType::Float32}),
          cost_(cost) {}
    void absorb_run(const compute::Run& run) override {
        sum_[0] += costly_sum(run.as<float>(), run.count, cost_);
    }
    void merge(const compute::Partial& other) override { sum_[0] += same(other).sum_[0]; }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(sum_);
    }
    compute::Result finish() const override {
        compute::Array out = result(fluvial::DType::Float64);
        *out.as<double>() = sum_[0];
        return {{"value", std::move(out)}};
    }

  private:
    int cost_;
    std::vector<double> sum_{0.0};
};

class CostlySum final : public compute::Operator {
  public:
    explicit CostlySum(int cost) : cost_(cost) {}
    std::string name() const override { return "costly_sum"; }
    std::unique_ptr<compute::Partial> identity(const compute::Domain& domain) const override {
        return std::make_unique<CostlyPartial>(domain, cost_);
    }

  private:
    int cost_;
};

struct Timing {
    double total_s = 0, read_s = 0, compute_s = 0, reduce_s = 0;
    double sum = 0, min = std::numeric_limits<double>::infinity();
    double bytes_sent = 0, metadata_bytes = 0;
};

/// This rank's selection: its share along the axis that is split.
struct Share {
    Extents start, count;
};

Share share_of(const Problem& problem, int rank, int ranks) {
    Share found{problem.start, problem.count};
    const std::size_t axis = problem.word("split", "time") == "lat" ? 2 : 0;
    const auto [begin, end] = share(problem.count[axis], rank, ranks);
    found.start[axis] += begin;
    found.count[axis] = end - begin;
    return found;
}

Timing by_mpi(const Problem& problem, const Share& mine, int cost, bool minimum) {
    Timing timing;
    const double begin = now();
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_read", "enable");
    if (problem.words.contains("buffer")) {
        MPI_Info_set(info, "cb_buffer_size", problem.word("buffer", "").c_str());
    }
    MPI_File file = MPI_FILE_NULL;
    if (MPI_File_open(MPI_COMM_WORLD, problem.file.c_str(), MPI_MODE_RDONLY, info, &file) != 0) {
        throw std::runtime_error("cannot open " + problem.file);
    }
    MPI_Info_free(&info);
    int whole[4], part[4], from[4];
    for (std::size_t axis = 0; axis < 4; ++axis) {
        whole[axis] = static_cast<int>(problem.shape[axis]);
        part[axis] = static_cast<int>(mine.count[axis]);
        from[axis] = static_cast<int>(mine.start[axis]);
    }
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_subarray(4, whole, part, from, MPI_ORDER_C, MPI_FLOAT, &type);
    MPI_Type_commit(&type);
    MPI_File_set_view(file, static_cast<MPI_Offset>(problem.offset), MPI_FLOAT, type, "native",
                      MPI_INFO_NULL);
    const std::int64_t count = volume(mine.count);
    const auto values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
    MPI_File_read_all(file, values.get(), static_cast<int>(count), MPI_FLOAT, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    MPI_File_close(&file);
    const double read = now();
    struct {
        double value;
        int place;
    } least{std::numeric_limits<double>::infinity(), 0}, all_least{};
    double sum = 0, all_sum = 0;
    if (minimum) {
        for (std::int64_t i = 0; i < count; ++i) {
            if (values[static_cast<std::size_t>(i)] < least.value) {
                least = {values[static_cast<std::size_t>(i)], static_cast<int>(i)};
            }
        }
    } else {
        sum = costly_sum(values.get(), count, cost);
    }
    const double computed = now();
    MPI_Reduce(&sum, &all_sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&least, &all_least, 1, MPI_DOUBLE_INT, MPI_MINLOC, 0, MPI_COMM_WORLD);
    const double end = now();
    timing.total_s = end - begin;
    timing.read_s = read - begin;
    timing.compute_s = computed - read;
    timing.reduce_s = end - computed;
    timing.sum = all_sum;
    timing.min = all_least.value;
    return timing;
}

Timing by_scan(const Problem& problem, const Share& mine, int cost, bool minimum,
               const mpi::Comm& comm) {
    Timing timing;
    const double begin = now();
    const auto file = store::open_file(problem.file);
    scan::Request request;
    request.inputs.push_back({{file->dataset(problem.word("variable", "temperature"))}, {}});
    const auto coordinates = [](const Extents& e) {
        return fluvial::Coordinates{e[0], e[1], e[2], e[3]};
    };
    request.selection =
        fluvial::Selection{coordinates(mine.start), coordinates(mine.count), {1, 1, 1, 1}};
    request.entries.push_back(
        {"result",
         minimum ? compute::make_operator("argmin") : std::make_shared<CostlySum>(cost),
         {}});
    scan::Options options;
    options.threads = 1;
    options.buffer_bytes = problem.number("buffer", 0);
    options.shuffle = problem.word("shuffle", "to one") == "to all" ? scan::Options::Shuffle::ToAll
                                                                    : scan::Options::Shuffle::ToOne;
    const scan::Outcome outcome = scan::run(request, options, comm);
    timing.total_s = now() - begin;
    const compute::Result& result = outcome.groups.front().at("result");
    if (minimum) {
        const auto& value = result.at("value");
        timing.min = value.dtype == fluvial::DType::Float32
                         ? static_cast<double>(*value.as<float>())
                         : *value.as<double>();
    } else {
        timing.sum = *result.at("value").as<double>();
    }
    timing.read_s = outcome.stats.read_s;
    timing.compute_s = outcome.stats.compute_s;
    timing.reduce_s = outcome.stats.merge_s;
    timing.bytes_sent = static_cast<double>(outcome.stats.bytes_sent);
    timing.metadata_bytes = static_cast<double>(outcome.stats.metadata_bytes);
    return timing;
}

/// Seconds an element and a unit of cost, in the cache.
double kernel_rate(int cost) {
    const std::vector<float> values(1 << 16, 1.0F);
    double sum = 0, least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < 20; ++round) {
        const double begin = now();
        sum += costly_sum(values.data(), static_cast<std::int64_t>(values.size()), cost);
        least = std::min(least, now() - begin);
    }
    return sum == 0 ? 0 : least / static_cast<double>(values.size()) / cost;
}

double over_ranks(double value, MPI_Op op) {
    double all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return all;
}

void measure(const Problem& problem) {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const std::string way = problem.word("way", "scan");
    const int cost = static_cast<int>(problem.number("cost", 0));
    const bool minimum = problem.word("task", "") == "minimum";
    pin(problem, comm.rank());
    if (way == "kernel") {
        const double rate = over_ranks(kernel_rate(cost), MPI_MAX);
        if (comm.rank() == 0) {
            std::printf("{\"element_s\": %.9g}\n", rate);
        }
        comm.close();
        return;
    }
    const Share mine = share_of(problem, comm.rank(), comm.size());
    comm.barrier();
    const Timing timing = way == "mpi" ? by_mpi(problem, mine, cost, minimum)
                                       : by_scan(problem, mine, cost, minimum, comm);
    const bool to_all = problem.word("shuffle", "") == "to all";
    const double all[] = {over_ranks(timing.total_s, MPI_MAX),
                          over_ranks(timing.read_s, MPI_MAX),
                          over_ranks(timing.compute_s, MPI_MAX),
                          over_ranks(timing.reduce_s, MPI_MAX),
                          to_all ? over_ranks(timing.sum, MPI_SUM) : timing.sum,
                          timing.min,
                          over_ranks(timing.bytes_sent, MPI_SUM),
                          over_ranks(timing.metadata_bytes, MPI_SUM)};
    if (comm.rank() == 0) {
        std::printf(
            "{\"total_s\": %.9g, \"read_s\": %.9g, \"compute_s\": %.9g, "
            "\"reduce_s\": %.9g, \"sum\": %.17g, ",
            all[0], all[1], all[2], all[3], minimum ? 0.0 : all[4]);
        std::printf("\"min\": %.17g, \"bytes_sent\": %.0f, \"metadata_bytes\": %.0f}\n",
                    minimum ? all[5] : 0.0, all[6], all[7]);
    }
    comm.close();
}

}  // namespace

int main(int argc, char** argv) {
    mpi::Environment environment(&argc, &argv);
    try {
        measure(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "collective: %s\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}
