// SPDX-License-Identifier: Apache-2.0
/// On which cores the thread runs that serves readers on other hosts. The environment alone says
/// it, as it may differ between hosts.
#pragma once

#include <string>

namespace fluvial::stage {

constexpr const char* service_cores_variable = "FLUVIAL_SERVICE_CORES";
/// "3", "0-3,8" or "any"; empty: where the process may run. Throws InvalidArgument for anything
/// else.
std::string service_cores();

}  // namespace fluvial::stage
