// SPDX-License-Identifier: Apache-2.0
/// For programs that go on after MPI_Finalize: what is called then is an error, and does not end
/// the process.
#pragma once

#include <cstdio>
#include <string>

#include "fluvial/base/error.hpp"

namespace fluvial::mpi {

/// Calls that were not refused as they should be.
inline int not_refused = 0;

template <class Call>
void refused(const char* name, Call call) {
    std::string said = "no error";
    try {
        call();
    } catch (const InvalidArgument& error) {
        said = error.what();
    }
    if (said.find("MPI is not running") == std::string::npos) {
        std::fprintf(stderr, "%s: %s\n", name, said.c_str());
        ++not_refused;
    }
}

}  // namespace fluvial::mpi
