// SPDX-License-Identifier: Apache-2.0
// What several files have as one, computed by all ranks together: each record, and all of them.
//   mpiexec -n 3 build/several_files temperature 't_*.nc'
//   mpiexec -n 3 build/several_files temperature jan.nc feb.nc
#include <iomanip>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "fluvial/scan.hpp"

using namespace fluvial;

namespace {

double value(const scan::Reduced& reduced, const char* name, std::size_t i = 0) {
    return reduced.results.at(name).at("value").as<double>()[i];
}

/// A line for each place along an axis, by its coordinate where there is one.
void print_each(const scan::Reduced& each, const std::string& axis, std::size_t length) {
    const auto found = each.coordinates.find(axis);
    for (std::size_t i = 0; i < length; ++i) {
        std::cout << axis << " ";
        if (found != each.coordinates.end()) {
            std::cout << found->second[i];
        } else {
            std::cout << "no. " << i;
        }
        std::cout << ": mean " << value(each, "mean", i) << ", std " << value(each, "std", i)
                  << "\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    if (argc < 3) {
        std::cerr << "usage: several_files VARIABLE FILE...\n";
        return 2;
    }
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const scan::Series series(std::vector<std::string>(argv + 2, argv + argc), comm);
    const scan::Variable t = series.variable(argv[1]);
    std::cout << std::setprecision(15);

    std::set<std::string> warnings;
    if (t.dimensions().size() > 1) {  // of fewer, each record is one number
        const std::vector<std::string> space(t.dimensions().begin() + 1, t.dimensions().end());
        const scan::Reduced each = t.reduce({"mean", "std"}, space, comm);
        warnings.insert(each.warnings.begin(), each.warnings.end());
        if (comm.rank() == 0) {
            print_each(each, t.dimensions().front(), static_cast<std::size_t>(t.shape()[0]));
        }
    }
    const scan::Reduced all = t.reduce({"mean", "std", {"quantile", {{"q", 0.9}}}}, {}, comm);
    warnings.insert(all.warnings.begin(), all.warnings.end());
    if (comm.rank() == 0) {
        std::cout << series.size() << " records: mean " << value(all, "mean") << ", std "
                  << value(all, "std") << ", 0.9 quantile " << value(all, "quantile") << "\n";
        for (const std::string& warning : warnings) {
            std::cerr << "warning: " << warning << "\n";
        }
    }
    comm.close();
}
