// SPDX-License-Identifier: Apache-2.0
/// The cores on which a thread of this library may run: where the user says so, or such as no rank
/// needs.
#pragma once

#include <string>
#include <thread>

#include <sched.h>

namespace fluvial::host {

/// The cores of "3" or "0-3,8", as taskset(1) and Slurm write them; "any": all that there are.
/// `name` is what the value was given as. Throws InvalidArgument.
cpu_set_t cores_of(const std::string& name, const std::string& given);

/// Where the threads of this process may run by now.
cpu_set_t cores_of_this_process();

/// From now on `thread`, and what threads it makes, run there, and not where a launcher has bound
/// the process. Throws InvalidArgument where this process may use none of these cores.
void run_on(std::thread& thread, const std::string& name, const std::string& given);
/// From now on `thread` runs on cores of the job that are not `taken`; where there are none, or
/// where that is not allowed, it stays where it is. True when it has moved.
bool run_beside(std::thread& thread, const cpu_set_t& taken);

}  // namespace fluvial::host
