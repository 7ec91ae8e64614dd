// SPDX-License-Identifier: Apache-2.0
// What several files have as one, computed by all ranks together: each record, and all of them.
//   mpiexec -n 3 build/several_files temperature 't_*.nc'
//   mpiexec -n 3 build/several_files temperature jan.nc feb.nc
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "fluvial/scan.hpp"

using namespace fluvial;

int main(int argc, char** argv) {
    const mpi::Environment environment(&argc, &argv);
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const scan::Series series(std::vector<std::string>(argv + 2, argv + argc), comm);
    const scan::Variable t = series.variable(argv[1]);
    const std::string time = t.dimensions().front();
    const std::vector<std::string> space(t.dimensions().begin() + 1, t.dimensions().end());

    const scan::Reduced each = t.reduce({"mean", "std"}, space, comm);
    const scan::Reduced all = t.reduce({"mean", "std", {"quantile", {{"q", 0.9}}}}, {}, comm);

    const auto value = [](const scan::Reduced& reduced, const char* name, std::size_t i = 0) {
        return reduced.results.at(name).at("value").as<double>()[i];
    };
    for (std::size_t i = 0; comm.rank() == 0 && i < series.size(); ++i) {
        std::cout << time << " " << std::setprecision(15) << each.coordinates.at(time)[i]
                  << ": mean " << value(each, "mean", i) << ", std " << value(each, "std", i)
                  << "\n";
    }
    if (comm.rank() == 0) {
        std::cout << series.size() << " records: mean " << value(all, "mean") << ", std "
                  << value(all, "std") << ", 0.9 quantile " << value(all, "quantile") << "\n";
        for (const std::string& warning : all.warnings) {
            std::cerr << "warning: " << warning << "\n";
        }
    }
    comm.close();
}
