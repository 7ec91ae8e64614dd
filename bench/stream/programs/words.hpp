// SPDX-License-Identifier: Apache-2.0
/// What the bench asks of a program, as NAME=VALUE arguments, and what a program knows of its
/// process. No code of Fluvial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <sched.h>

#include "clock.hpp"

class Words {
  public:
    Words(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string argument = argv[i];
            const auto equals = argument.find('=');
            if (equals == std::string::npos) {
                throw std::invalid_argument("NAME=VALUE expected, got '" + argument + "'");
            }
            words_[argument.substr(0, equals)] = argument.substr(equals + 1);
        }
    }
    std::string text(const std::string& name, const std::string& otherwise) const {
        const auto found = words_.find(name);
        return found == words_.end() ? otherwise : found->second;
    }
    std::int64_t number(const std::string& name, std::int64_t otherwise) const {
        return std::stoll(text(name, std::to_string(otherwise)));
    }
    double real(const std::string& name, double otherwise) const {
        return std::stod(text(name, std::to_string(otherwise)));
    }
    /// The parts of VALUE between commas.
    std::vector<std::string> list(const std::string& name) const {
        std::vector<std::string> found;
        const std::string all = text(name, "");
        for (std::size_t at = 0; at < all.size();) {
            const std::size_t end = std::min(all.find(',', at), all.size());
            found.push_back(all.substr(at, end - at));
            at = end + 1;
        }
        return found;
    }

  private:
    std::map<std::string, std::string> words_;
};

/// Binds this process to the core at its rank's place in `cores`; anywhere when that is empty.
inline void pin(const std::vector<std::string>& cores, int rank) {
    if (!cores.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(std::stoi(cores[static_cast<std::size_t>(rank) % cores.size()]), &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

/// A line of /proc/self/status such as VmRSS or VmHWM, in bytes; under SMPI ranks share a process,
/// and nothing is said.
inline std::int64_t memory_now(const std::string& name) {
    if (simulated) {
        return 0;
    }
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, name.size() + 1, name + ":") == 0) {
            return std::stoll(line.substr(name.size() + 1)) * 1024;
        }
    }
    return 0;
}

/// VmHWM counts from here on.
inline void forget_peak() {
    if (!simulated) {
        std::ofstream("/proc/self/clear_refs") << "5";
    }
}
