// SPDX-License-Identifier: Apache-2.0
// A rank of a simulated machine: moves the flows of a file by the multipath executor, and prints
// how long each run took in simulated time.
//
//     run windows            or "run messages": by MPI's own messages, for comparison
//     flow FROM TO BYTES WINDOW
//     path RANK RANK …       of the flow before it
//
// A line "NUMBER SECONDS" for each run comes from rank 0; wrong bytes end the simulation with an
// error.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "fluvial/base/clock.hpp"
#include "fluvial/move/multipath.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"

extern "C" int smpi_usleep(unsigned int us);  // of simulated time
extern "C" int smpi_nanosleep(const timespec* time, timespec* left);

// What SimGrid 3.32 does not have, or has in another way.

/// SimGrid's own sends a message from each rank to each other one. All ranks come to it at the same
/// time here.
extern "C" int MPI_Iallreduce(const void* own, void* all, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Allreduce(own, all, count, type, op, comm);
}

/// Nothing else is asked of a rank while it waits for its copy.
extern "C" int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* copy, MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return MPI_Comm_dup(comm, copy);
}

/// Of messages below 2 GiB.
extern "C" int MPI_Get_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count* elements) {
    int count = 0;
    const int error = MPI_Get_count(status, datatype, &count);
    *elements = count;
    return error;
}

namespace {

using fluvial::route::RankFlow;
namespace mpi = fluvial::mpi;
namespace move = fluvial::move;

constexpr double ns = 1e-9;

std::int64_t simulated_ns() {
    return static_cast<std::int64_t>(MPI_Wtime() / ns);
}
/// Time stands still unless a rank sleeps.
void sleep_simulated(std::int64_t length_ns) {
    smpi_usleep(static_cast<unsigned>(std::max<std::int64_t>(1, length_ns / 1000)));
}
void yield_simulated() {
    smpi_usleep(1);
}

void wait_for_one(std::span<const mpi::Pending> pending) {
    std::vector<MPI_Request> requests;
    for (const mpi::Pending& one : pending) {
        requests.push_back(*one.request);
    }
    int index = MPI_UNDEFINED;
    MPI_Status status;
    MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, &status);
    if (index == MPI_UNDEFINED) {
        yield_simulated();
        return;
    }
    const mpi::Pending& done = pending[static_cast<std::size_t>(index)];
    *done.request = requests[static_cast<std::size_t>(index)];
    if (done.status != nullptr) {
        *done.status = status;
    }
}

/// The same moment on all ranks, a while after the call: a barrier lets one rank after the other
/// go, and it is hundreds of microseconds later for the last.
double begin_together() {
    constexpr double a_while = 1e-3;
    const double now = MPI_Wtime();
    double latest = 0;
    MPI_Allreduce(&now, &latest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const double begin = latest + a_while;
    const auto left_ns = static_cast<std::int64_t>((begin - MPI_Wtime()) / ns);
    const timespec left{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
    smpi_nanosleep(&left, nullptr);
    return begin;
}

struct Run {
    bool windows = false;
    std::vector<RankFlow> flows;
};

std::vector<Run> read_runs(const char* path) {
    std::vector<Run> runs;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word == "run") {
            words >> word;
            runs.push_back({word == "windows", {}});
        } else if (word == "flow") {
            RankFlow flow;
            words >> flow.from >> flow.to >> flow.bytes >> flow.window_bytes;
            runs.back().flows.push_back(flow);
        } else if (word == "path") {
            std::vector<int> stops;
            for (int stop = 0; words >> stop;) {
                stops.push_back(stop);
            }
            runs.back().flows.back().paths.push_back(stops);
        }
    }
    return runs;
}

/// What byte `place` of flow number `flow` is.
std::byte pattern(std::size_t flow, std::size_t place) {
    return static_cast<std::byte>((place * 2654435761U >> 13) + flow);
}

using Bytes = std::shared_ptr<std::byte[]>;

Bytes filled(std::size_t flow, std::size_t size) {
    const auto bytes = std::make_shared_for_overwrite<std::byte[]>(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = pattern(flow, i);
    }
    return bytes;
}

void compare(std::size_t flow, const std::byte* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        if (bytes[i] != pattern(flow, i)) {
            std::fprintf(stderr, "flow %zu: byte %zu differs\n", flow, i);
            std::exit(1);
        }
    }
}

double by_windows(const mpi::Comm& comm, const Run& run, std::vector<Bytes>& come) {
    std::vector<move::Outgoing> outgoing(run.flows.size());
    for (std::size_t i = 0; i < run.flows.size(); ++i) {
        const RankFlow& flow = run.flows[i];
        if (flow.from == comm.rank()) {
            const Bytes bytes = filled(i, flow.bytes);
            outgoing[i] = {{bytes.get(), flow.bytes}, bytes};
        }
    }
    // No rank is lost on this machine.
    move::PreparedExchange exchange(comm, run.flows, outgoing,
                                    {.stall_timeout_s = 1e6, .rest = wait_for_one});
    const double begin = begin_together();
    const move::Moved moved = exchange.run();
    const double seconds = MPI_Wtime() - begin;
    for (std::size_t i = 0; i < run.flows.size(); ++i) {
        come.push_back(moved.arrived[i].bytes);
    }
    return seconds;
}

double by_messages(const mpi::Comm& comm, const Run& run, std::vector<Bytes>& come) {
    std::vector<MPI_Request> requests;
    std::vector<Bytes> sent(run.flows.size());
    come.resize(run.flows.size());
    for (std::size_t i = 0; i < run.flows.size(); ++i) {
        const RankFlow& flow = run.flows[i];
        if (flow.to == comm.rank()) {
            come[i] = std::make_shared_for_overwrite<std::byte[]>(flow.bytes);
            MPI_Irecv(come[i].get(), static_cast<int>(flow.bytes), MPI_BYTE, flow.from,
                      static_cast<int>(i), comm.handle(), &requests.emplace_back());
        }
        if (flow.from == comm.rank()) {
            sent[i] = filled(i, flow.bytes);
        }
    }
    const double begin = begin_together();
    for (std::size_t i = 0; i < run.flows.size(); ++i) {
        if (sent[i]) {
            MPI_Isend(sent[i].get(), static_cast<int>(run.flows[i].bytes), MPI_BYTE,
                      run.flows[i].to, static_cast<int>(i), comm.handle(),
                      &requests.emplace_back());
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return MPI_Wtime() - begin;
}

void move_all(const char* path) {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const std::vector<Run> runs = read_runs(path);
    for (std::size_t number = 0; number < runs.size(); ++number) {
        const Run& run = runs[number];
        std::vector<Bytes> come;
        const double seconds =
            run.windows ? by_windows(comm, run, come) : by_messages(comm, run, come);
        for (std::size_t i = 0; i < run.flows.size(); ++i) {
            if (run.flows[i].to == comm.rank()) {
                compare(i, come[i].get(), run.flows[i].bytes);
            }
        }
        double slowest = 0;
        MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (comm.rank() == 0) {
            std::printf("%zu %.9g\n", number, slowest);
            std::fflush(stdout);
        }
    }
    comm.close();
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    fluvial::set_clock({simulated_ns, yield_simulated, sleep_simulated});
    int code = 0;
    try {
        move_all(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        code = 1;
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    MPI_Finalize();
    return code;
}
