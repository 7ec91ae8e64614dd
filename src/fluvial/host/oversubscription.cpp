// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/oversubscription.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <unistd.h>

namespace fluvial::host {

namespace {

/// Cores that the calling thread may run on; none when that is not known.
cpu_set_t own_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        CPU_ZERO(&cores);
    }
    return cores;
}

/// So that sums of parts that make one are one.
double rounded(double ranks) {
    constexpr double parts = 1 << 20;
    return std::round(ranks * parts) / parts;
}

}  // namespace

std::vector<double> ranks_per_core(std::span<const cpu_set_t> cores) {
    std::array<double, CPU_SETSIZE> ranks{};
    for (const cpu_set_t& one : cores) {
        for (std::size_t c = 0; c < ranks.size(); ++c) {
            if (CPU_ISSET(c, &one)) {
                ranks[c] += 1.0 / CPU_COUNT(&one);
            }
        }
    }
    std::vector<double> found;
    for (const cpu_set_t& one : cores) {
        double sum = 0;
        for (std::size_t c = 0; c < ranks.size(); ++c) {
            if (CPU_ISSET(c, &one)) {
                sum += ranks[c];
            }
        }
        found.push_back(rounded(sum / std::max(1, CPU_COUNT(&one))));
    }
    return found;
}

std::vector<double> ranks_per_core(const mpi::Comm& host) {
    const std::vector<cpu_set_t> all = host.allgather_values(own_cores());
    const auto unknown = [](const cpu_set_t& cores) { return CPU_COUNT(&cores) == 0; };
    if (std::none_of(all.begin(), all.end(), unknown)) {
        return ranks_per_core(all);
    }
    const auto online = static_cast<double>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    return std::vector<double>(all.size(), host.size() / online);
}

}  // namespace fluvial::host
