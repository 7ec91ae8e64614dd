// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/threads.hpp"

#include <utility>

#include <pthread.h>
#include <signal.h>

namespace fluvial {

std::thread without_signals(std::function<void()> work) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread(std::move(work));
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
}

}  // namespace fluvial
