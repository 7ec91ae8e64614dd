// SPDX-License-Identifier: Apache-2.0
/// On which cores the thread runs that serves readers on other hosts: where the environment says,
/// which alone does, as it may differ between hosts; else on cores to which the launcher has bound
/// no rank of the writer.
#pragma once

#include <string>

namespace fluvial::stage {

constexpr const char* service_cores_variable = "FLUVIAL_SERVICE_CORES";
/// The cores of its rank, where launcher or user have bound that.
constexpr const char* cores_of_the_rank = "bound";
/// "3", "0-3,8", "any" or "bound"; empty: such as no rank is bound to. Throws InvalidArgument for
/// anything else.
std::string service_cores();

}  // namespace fluvial::stage
