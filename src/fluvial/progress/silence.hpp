// SPDX-License-Identifier: Apache-2.0
/// What is said of a rank whose heartbeats do not come.
#pragma once

#include <string>

#include "fluvial/host/process.hpp"

namespace fluvial::progress {

struct Silence {
    host::Process process;
    double silent_s = 0;
    double stall_timeout_s = 0;
    std::string
        of;  ///< what has the limit, e.g. "the channel"; empty: nothing that can be begun again
};

/// Of a process on this host.
std::string silent_here(const Silence& silence);
/// Of one on another host.
std::string silent_afar(const Silence& silence);

}  // namespace fluvial::progress
