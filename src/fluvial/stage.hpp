// SPDX-License-Identifier: Apache-2.0
/// All that a program needs that writes steps for other jobs, or reads theirs: writers, readers,
/// reductions of a step where it lies, its shares, the operators (compute.hpp) and the strategies
/// (distribute.hpp).
#pragma once

#include "fluvial/base/clock.hpp"
#include "fluvial/compute.hpp"
#include "fluvial/distribute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/stage/job_options.hpp"
#include "fluvial/stage/named_options.hpp"
#include "fluvial/stage/options.hpp"
#include "fluvial/stage/reader.hpp"
#include "fluvial/stage/reduce.hpp"
#include "fluvial/stage/series_writer.hpp"
#include "fluvial/stage/share.hpp"
#include "fluvial/stage/writer.hpp"
