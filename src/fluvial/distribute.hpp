// SPDX-License-Identifier: Apache-2.0
/// All that a program needs that assigns chunks to readers, or defines a strategy of its own:
/// strategies by name, what they are given and return, and how good that is.
#pragma once

#include "fluvial/base/error.hpp"
#include "fluvial/describe/region.hpp"
#include "fluvial/distribute/metrics.hpp"
#include "fluvial/distribute/place.hpp"
#include "fluvial/distribute/registry.hpp"
#include "fluvial/distribute/strategy.hpp"
