// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/fork.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial {
namespace {

/// The state of the process. Never destroyed: objects that end with the process still ask for it.
struct Forks {
    std::atomic<std::uint32_t> generation{1};
    std::atomic<std::int64_t> process{::getpid()};  ///< which to ask each time costs a system call
    std::recursive_mutex mutex;  ///< of `hooks`, and against a fork in the middle of things
    std::vector<ForkHook*> hooks;

    Forks();
};

Forks& forks() {
    static auto& of_process = *new Forks;
    return of_process;
}

}  // namespace

void call_fork_hooks() {
    Forks& all = forks();
    // The thread that forked has another id here, so the mutex does not know its owner any more.
    new (&all.mutex) std::recursive_mutex;
    all.generation.fetch_add(1, std::memory_order_relaxed);
    all.process.store(::getpid(), std::memory_order_relaxed);
    for (const ForkHook* hook : all.hooks) {
        hook->work_();
    }
    all.hooks.clear();
}

namespace {

Forks::Forks() {
    ::pthread_atfork([] { forks().mutex.lock(); }, [] { forks().mutex.unlock(); },
                     [] { call_fork_hooks(); });
}

}  // namespace

std::uint32_t fork_generation() {
    return forks().generation.load(std::memory_order_relaxed);
}

MadeHere::MadeHere()
    : generation_(fork_generation()), process_(forks().process.load(std::memory_order_relaxed)) {}

void MadeHere::check(const char* what) const {
    if (!inherited()) {
        return;
    }
    throw InvalidArgument(
        Problem{text(what, " belongs to another process"),
                text("process ", ::getpid(), ", a child by fork of process ", process_),
                text("process ", process_, ", which opened it"),
                "Open one in the child, or hand data to and fro between the two"});
}

ForkPause::ForkPause() {
    forks().mutex.lock();
}

ForkPause::~ForkPause() {
    forks().mutex.unlock();
}

ForkHook::ForkHook(std::function<void()> work) : work_(std::move(work)) {
    const ForkPause pause;
    forks().hooks.push_back(this);
}

ForkHook::~ForkHook() {
    const ForkPause pause;
    std::erase(forks().hooks, this);
}

}  // namespace fluvial
