// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/comm.hpp"

namespace fluvial::mpi {

/// Returns what `work` does, which uses `comm` for calls in which all ranks are. When it throws,
/// `comm` is not used any more: an InvalidArgument is the same on all ranks, and it is closed;
/// after anything else others may not come to that, and it is abandoned.
template <class Work>
auto given_up_on_error(Comm& comm, Work&& work) {
    try {
        return work();
    } catch (const InvalidArgument&) {
        comm.close();
        throw;
    } catch (...) {
        comm.abandon();
        throw;
    }
}

}  // namespace fluvial::mpi
