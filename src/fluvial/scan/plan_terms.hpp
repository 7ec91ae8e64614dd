// SPDX-License-Identifier: Apache-2.0
/// What all ranks of a collective scan must say alike.
#pragma once

#include "fluvial/base/terms.hpp"
#include "fluvial/scan/plan.hpp"

namespace fluvial::scan {

/// Data, operators, predicates, axes, what decides which rank reads what and in which order
/// collective calls come, and, if all are to ask the same, the request. Ranks of ToOne differ in
/// their selections and in the factors and groups along them, ranks of ToAll in the whole request.
void add_terms(const Request& request, const Options& options, const Plan& plan, Terms& terms);

}  // namespace fluvial::scan
