// SPDX-License-Identifier: Apache-2.0
/// What stands behind a fluvial_file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "fluvial/c/fluvial.h"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/store/file.hpp"

struct fluvial_file {
    fluvial::mpi::Comm comm;
    std::shared_ptr<const fluvial::store::File> file;
    int aggregators = 0;  ///< hints; 0: none was given
    fluvial::Index buffer_bytes = 0, memory_bytes = 0;
    int threads = 0;
    bool reproducible = false;
    int ranks_here = 1;            ///< that share this host
    std::atomic<int> pending = 0;  ///< object I/Os under way

    /// Throws InvalidArgument when there is none of this number or name.
    std::shared_ptr<const fluvial::store::Dataset> dataset(int number) const;
    int number(const std::string& name) const;
    /// A call of all ranks, which are watched in it: those that do not run are an error.
    /// `of`: what can be begun again, or nothing.
    fluvial::move::WatchedTask watched(const char* of) const;
};
