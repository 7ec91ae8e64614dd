// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/shared_lock.hpp"

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/spin.hpp"

namespace fluvial::host {
namespace {

// A critical section takes less than a microsecond, to fall asleep and to be woken ten. Between two
// tries the owner has the line of the mutex to itself.
constexpr int lock_tries = 32;
constexpr int spins_between_tries = 8;

timespec to_timespec(std::int64_t ns) {
    return {ns / 1'000'000'000, ns % 1'000'000'000};
}

int wait_for(pthread_mutex_t& mutex, std::int64_t timeout_ns) {
#if defined(__SANITIZE_THREAD__)  // which does not know pthread_mutex_clocklock
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const timespec until = to_timespec(now.tv_sec * 1'000'000'000 + now.tv_nsec + timeout_ns);
    return pthread_mutex_timedlock(&mutex, &until);
#else
    const timespec until = to_timespec(now_ns() + timeout_ns);
    return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
#endif
}

}  // namespace

void SharedMutex::initialise() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    const int error = pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (error != 0) {
        throw_errno("cannot create a mutex between processes", error);
    }
}

void SharedMutex::lock(double timeout_s) {
    int error = pthread_mutex_trylock(&mutex_);
    for (int tries = 1; error == EBUSY && tries < lock_tries; ++tries) {
        for (int i = 0; i < spins_between_tries; ++i) {
            spin();
        }
        error = pthread_mutex_trylock(&mutex_);
    }
    if (error == EBUSY) {
        error = wait_for(mutex_, static_cast<std::int64_t>(timeout_s * 1e9));
    }
    if (error == ETIMEDOUT) {
        throw PeerStalled(
            Problem{"a process of this stream was stopped while it changed their common state",
                    text("thread ", mutex_.__data.__owner, ", for more than ", timeout_s, " s"), "",
                    "Let it go on (SIGCONT) or kill it, then try again"});
    }
    if (error == EOWNERDEAD) {
        pthread_mutex_consistent(&mutex_);
    } else if (error != 0) {
        throw_errno("cannot lock a mutex between processes", error);
    }
}

void SharedMutex::unlock() {
    pthread_mutex_unlock(&mutex_);
}

}  // namespace fluvial::host
