// SPDX-License-Identifier: Apache-2.0
/// All that a program needs whose ranks stream elements to each other: channels, streams, what
/// consumers do with the elements, and the operators (compute.hpp).
#pragma once

#include "fluvial/base/clock.hpp"
#include "fluvial/compute.hpp"
#include "fluvial/mpi/comm.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/stream/association.hpp"
#include "fluvial/stream/channel.hpp"
#include "fluvial/stream/element.hpp"
#include "fluvial/stream/inquiry.hpp"
#include "fluvial/stream/operation.hpp"
#include "fluvial/stream/outcome.hpp"
#include "fluvial/stream/pending.hpp"
#include "fluvial/stream/statistics.hpp"
#include "fluvial/stream/stream.hpp"
#include "fluvial/stream/threshold.hpp"
#include "fluvial/stream/threshold_collective.hpp"
