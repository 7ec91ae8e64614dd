// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/core_set.hpp"

#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <pthread.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/finer_errors.hpp"

namespace fluvial::host {
namespace {

[[noreturn]] void throw_no_cores(const std::string& name, const std::string& given,
                                 const char* why) {
    throw InvalidArgument(
        Problem{text(name, " names no cores", why), text("'", shortened(given), "'"),
                text("numbers from 0 to ", std::thread::hardware_concurrency() - 1,
                     " and ranges of them, as '3' or '0-3,8', or 'any'"),
                ""});
}

/// One number, or two with "-" between them.
bool add_range(const std::string& words, cpu_set_t& cores) {
    unsigned first = 0;
    const char* end = words.data() + words.size();
    auto parsed = std::from_chars(words.data(), end, first);
    unsigned last = first;
    bool good = parsed.ec == std::errc();
    if (good && parsed.ptr != end && *parsed.ptr == '-') {
        parsed = std::from_chars(parsed.ptr + 1, end, last);
        good = parsed.ec == std::errc();
    }
    if (!good || parsed.ptr != end || last < first || last >= CPU_SETSIZE) {
        return false;
    }
    for (unsigned core = first; core <= last; ++core) {
        CPU_SET(core, &cores);
    }
    return true;
}

cpu_set_t all_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
        CPU_SET(core, &cores);
    }
    return cores;
}

}  // namespace

cpu_set_t cores_of(const std::string& name, const std::string& given) {
    if (given == "any") {
        return all_cores();
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    std::istringstream parts(given);
    for (std::string part; std::getline(parts, part, ',');) {
        if (!add_range(part, cores)) {
            throw_no_cores(name, given, "");
        }
    }
    if (CPU_COUNT(&cores) == 0) {
        throw_no_cores(name, given, "");
    }
    return cores;
}

cpu_set_t cores_of_this_process() {
    cpu_set_t all;
    CPU_ZERO(&all);
    ::sched_getaffinity(0, sizeof all, &all);
    std::error_code unreadable;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", unreadable)) {
        const std::string name = task.path().filename();
        pid_t thread = 0;
        cpu_set_t cores;
        std::from_chars(name.data(), name.data() + name.size(), thread);
        if (::sched_getaffinity(thread, sizeof cores, &cores) == 0) {
            CPU_OR(&all, &all, &cores);
        }
    }
    return all;
}

void run_on(std::thread& thread, const std::string& name, const std::string& given) {
    const cpu_set_t cores = cores_of(name, given);
    if (::pthread_setaffinity_np(thread.native_handle(), sizeof cores, &cores) != 0) {
        throw_no_cores(name, given, " that this process may use");
    }
}

bool run_beside(std::thread& thread, const cpu_set_t& taken) {
    const pthread_t handle = thread.native_handle();
    const cpu_set_t all = all_cores();
    cpu_set_t before, allowed;  // the system leaves out those that the job may not use
    if (::pthread_getaffinity_np(handle, sizeof before, &before) != 0 ||
        ::pthread_setaffinity_np(handle, sizeof all, &all) != 0) {
        return false;
    }
    cpu_set_t spare;
    CPU_ZERO(&spare);
    if (::pthread_getaffinity_np(handle, sizeof allowed, &allowed) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &allowed) && !CPU_ISSET(core, &taken)) {
                CPU_SET(core, &spare);
            }
        }
    }
    const bool moves = CPU_COUNT(&spare) > 0;
    ::pthread_setaffinity_np(handle, sizeof spare, moves ? &spare : &before);
    return moves;
}

}  // namespace fluvial::host
