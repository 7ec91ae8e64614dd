// SPDX-License-Identifier: Apache-2.0
/// Time, which under SMPI is the simulated machine's.
#pragma once

#include <mpi.h>

inline double now() {
    return MPI_Wtime();
}

#ifdef SIMULATED
constexpr bool simulated = true;
#else
constexpr bool simulated = false;
#endif

/// Lets `seconds` of computing pass on a simulated machine, where the program's own takes no time.
inline void spend(double seconds) {
#ifdef SIMULATED
    smpi_execute(seconds);
#else
    (void)seconds;
#endif
}
