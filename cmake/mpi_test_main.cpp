// SPDX-License-Identifier: Apache-2.0
// main() of the C++ tests that run under mpiexec: rank 0 prints doctest's report, the other ranks
// only their failures, each line marked with the rank. The run fails on every rank if it failed on
// any.
#define DOCTEST_CONFIG_IMPLEMENT
#include <iostream>
#include <ostream>
#include <streambuf>
#include <string>

#include <mpi.h>

#include "each_seed.hpp"

namespace {

/// Hands each finished line to std::cout at once, marked with the rank: what a rank has to say must
/// not be lost when the others wait for it until the time limit.
class RankLines : public std::streambuf {
  public:
    explicit RankLines(int rank) : mark_("[rank " + std::to_string(rank) + "] ") {}

  protected:
    int overflow(int c) override {
        if (c == traits_type::eof()) {
            return c;
        }
        line_.push_back(static_cast<char>(c));
        if (c == '\n') {
            std::cout << mark_ << line_ << std::flush;
            line_.clear();
        }
        return c;
    }

  private:
    std::string mark_;
    std::string line_;
};

}  // namespace

int main(int argc, char** argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        std::cerr << "this MPI offers thread level " << provided
                  << "; the tests need MPI_THREAD_MULTIPLE (" << MPI_THREAD_MULTIPLE << ")\n";
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    RankLines lines(rank);
    std::ostream marked(&lines);
    doctest::Context context(argc, argv);
    if (rank != 0) {
        context.setOption("minimal", true);
        context.setCout(&marked);
    }
    const bool failed = fluvial::failed_with_any_seed(context, [](bool condition) {
        int any = condition ? 1 : 0;
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        return any != 0;
    });
    MPI_Finalize();
    return failed ? 1 : 0;
}
