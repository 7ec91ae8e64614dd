// SPDX-License-Identifier: Apache-2.0
/// What other bindings need of the strategies'.
#pragma once

#include <nanobind/nanobind.h>

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::python {

/// From a text, a callable, or a pair (text, dict of callables by name). The GIL is held.
distribute::StrategyPtr to_strategy(nanobind::handle object);

/// (offset, extent, number of the chunk).
nanobind::tuple to_tuple(const distribute::Piece& piece);

}  // namespace fluvial::python
