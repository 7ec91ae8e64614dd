// SPDX-License-Identifier: Apache-2.0
/// Which processes are alive on this host. Ranks of one job do not watch each other by locks: the
/// kernel's process table suffices, since they share it or else are not watched.
#pragma once

#include <cstdint>
#include <string>

namespace fluvial::host {

struct Process {
    std::int64_t id = 0;
    std::int64_t started =
        0;  ///< clock ticks since boot: tells it from a later one with the same id
};

/// Which process table this process sees: two that see the same one can look for each other in it.
/// Empty where that cannot be known.
std::string process_table();
/// This process.
Process own_process();
/// True when some process has this number now, and runs.
bool runs(std::int64_t id);
/// True when the process table has it, and it is neither dead nor waiting to be buried.
bool is_alive(const Process& process);
/// True when it is alive and was stopped: by a signal, or by a debugger.
bool is_stopped(const Process& process);

}  // namespace fluvial::host
