// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/process.hpp"

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::host {

namespace {

struct Status {
    char state = 'X';
    std::int64_t started = 0;
};

/// The third and the 22nd field of /proc/PID/stat; the second, the name, may hold anything.
std::optional<Status> status_of(std::int64_t id) {
    std::ifstream file(text("/proc/", id, "/stat"));
    std::string line;
    if (!std::getline(file, line)) {
        return std::nullopt;
    }
    std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
    Status status;
    fields >> status.state;
    std::string skipped;
    for (int field = 4; field < 22; ++field) {
        fields >> skipped;
    }
    fields >> status.started;
    return fields ? std::optional(status) : std::nullopt;
}

}  // namespace

std::string process_table() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    struct stat status{};
    if (!std::getline(file, boot) || ::stat("/proc/self/ns/pid", &status) != 0) {
        return "";
    }
    return text(boot, ' ', status.st_dev, ' ', status.st_ino);
}

Process own_process() {
    const auto id = static_cast<std::int64_t>(getpid());
    const auto status = status_of(id);
    return {id, status ? status->started : 0};
}

bool runs(std::int64_t id) {
    const auto status = status_of(id);
    return status && status->state != 'Z' && status->state != 'X';
}

bool is_alive(const Process& process) {
    const auto status = status_of(process.id);
    return status && status->started == process.started && status->state != 'Z' &&
           status->state != 'X';
}

bool is_stopped(const Process& process) {
    const auto status = status_of(process.id);
    return status && status->started == process.started &&
           (status->state == 'T' || status->state == 't');
}

}  // namespace fluvial::host
