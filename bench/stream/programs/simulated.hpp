// SPDX-License-Identifier: Apache-2.0
/// Included before everything else under SMPI, where ranks take turns and time passes only in calls
/// that the simulator knows: giving the core away, or a pause in a loop, takes as long as a look.
#pragma once

#include <ctime>

#include <sched.h>

inline int simulated_look() {
    const timespec look{0, 1000};
    return nanosleep(&look, nullptr);
}

#define sched_yield() simulated_look()
#define __builtin_ia32_pause() simulated_look()
