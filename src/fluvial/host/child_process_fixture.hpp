// SPDX-License-Identifier: Apache-2.0
/// Children of a test by fork().
#pragma once

#include <csignal>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fluvial::host {

/// A child that runs `work` and ends.
template <class Work>
pid_t spawn(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    return child;
}

/// How a child has ended; blocking until it has.
inline int status_of(pid_t child) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

inline void kill_and_wait(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

}  // namespace fluvial::host
