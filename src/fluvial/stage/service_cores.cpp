// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/service_cores.hpp"

#include <cstdlib>
#include <string_view>

#include "fluvial/host/core_set.hpp"

namespace fluvial::stage {

namespace {

/// The threads of a program that binds them itself run, later, where they do not run yet.
bool threads_are_bound_later() {
    const auto says = [](const char* variable, const char* no) {
        const char* given = std::getenv(variable);
        return given != nullptr && *given != '\0' && std::string_view(given) != no;
    };
    return says("OMP_PROC_BIND", "false") || says("GOMP_CPU_AFFINITY", "") ||
           says("KMP_AFFINITY", "disabled");
}

}  // namespace

std::string service_cores() {
    const char* given = std::getenv(service_cores_variable);
    if (given == nullptr || *given == '\0') {
        return threads_are_bound_later() ? cores_of_the_rank : "";
    }
    if (std::string_view(given) != cores_of_the_rank) {
        host::cores_of(service_cores_variable, given);
    }
    return given;
}

}  // namespace fluvial::stage
