// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/core_set.hpp"

#include <charconv>
#include <sstream>

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

}  // namespace

cpu_set_t cores_of(const std::string& name, const std::string& given) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (given == "any") {
        add_range(text("0-", CPU_SETSIZE - 1), cores);
        return cores;
    }
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

void run_on(std::thread& thread, const std::string& name, const std::string& given) {
    const cpu_set_t cores = cores_of(name, given);
    if (::pthread_setaffinity_np(thread.native_handle(), sizeof cores, &cores) != 0) {
        throw_no_cores(name, given, " that this process may use");
    }
}

}  // namespace fluvial::host
