// SPDX-License-Identifier: Apache-2.0
/// All that a program needs that plans how data moves through a network: topologies by name or
/// from files, paths of flows that move at the same time, and how long they take.
#pragma once

#include "fluvial/base/error.hpp"
#include "fluvial/route/description.hpp"
#include "fluvial/route/max_flow.hpp"
#include "fluvial/route/model.hpp"
#include "fluvial/route/plan.hpp"
#include "fluvial/route/rank_flow.hpp"
#include "fluvial/route/rank_plan.hpp"
#include "fluvial/route/registry.hpp"
#include "fluvial/route/sinks.hpp"
