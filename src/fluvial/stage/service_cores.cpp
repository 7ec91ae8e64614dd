// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/service_cores.hpp"

#include <cstdlib>

#include "fluvial/host/core_set.hpp"

namespace fluvial::stage {

std::string service_cores() {
    const char* given = std::getenv(service_cores_variable);
    if (given == nullptr || *given == '\0') {
        return {};
    }
    host::cores_of(service_cores_variable, given);
    return given;
}

}  // namespace fluvial::stage
