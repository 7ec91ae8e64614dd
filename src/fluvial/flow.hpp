// SPDX-License-Identifier: Apache-2.0
/// All that a program needs whose ranks run tasks: pools, futures, the functions of tasks, and the
/// scheduler, which can be simulated.
#pragma once

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/flow/function.hpp"
#include "fluvial/flow/pool.hpp"
#include "fluvial/flow/simulation.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
