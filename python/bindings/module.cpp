// SPDX-License-Identifier: Apache-2.0
/// fluvial._core: the C++ core as the Python package uses it. One file a folder of src/fluvial.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "fluvial/mpi/environment.hpp"

namespace nb = nanobind;

void bind_base(nb::module_& m);
void bind_compute(nb::module_& m);
void bind_dataset_writer(nb::module_& m);
void bind_distribute(nb::module_& m);
void bind_structure_factor(nb::module_& m);
void bind_flow(nb::module_& m);
void bind_flow_simulation(nb::module_& m);
void bind_library_file(nb::module_& m);
void bind_progress(nb::module_& m);
void bind_rank_watch(nb::module_& m);
void bind_route(nb::module_& m);
void bind_scan(nb::module_& m);
void bind_stage(nb::module_& m);
void bind_store(nb::module_& m);
void bind_stream(nb::module_& m);

NB_MODULE(_core, m) {
#ifdef NDEBUG
    // An operator that is a global of a program lives to its end where its Python function is
    // of the same module: that holds the globals, and Python cannot see that the core holds it.
    nb::set_leak_warnings(false);
#endif
    m.attr("__version__") = FLUVIAL_VERSION;
    m.def(
        "mpiexec", [] { return FLUVIAL_MPIEXEC; },
        "The mpiexec of the MPI that this package was built with; empty where there was none.");
    m.def("mpi_library", &fluvial::mpi::library_version,
          "Name and version of the MPI that this package is linked with.");
    bind_base(m);
    bind_compute(m);
    bind_structure_factor(m);
    bind_distribute(m);
    bind_progress(m);
    bind_rank_watch(m);
    bind_dataset_writer(m);
    bind_route(m);
    bind_scan(m);
    bind_stage(m);
    bind_store(m);
    bind_library_file(m);
    bind_stream(m);
    bind_flow(m);
    bind_flow_simulation(m);
}
