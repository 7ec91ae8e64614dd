// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/interrupt.hpp"

#include <utility>

namespace fluvial {
namespace {

std::function<void()>& installed() {
    static std::function<void()> check;
    return check;
}

thread_local bool suspended = false;
thread_local const std::function<void()>* of_thread = nullptr;

}  // namespace

WithoutInterrupts::WithoutInterrupts() : before_(std::exchange(suspended, true)) {}

WithoutInterrupts::~WithoutInterrupts() {
    suspended = before_;
}

ThreadInterruptCheck::ThreadInterruptCheck(std::function<void()> check)
    : check_(std::move(check)), before_(std::exchange(of_thread, &check_)) {}

ThreadInterruptCheck::~ThreadInterruptCheck() {
    of_thread = before_;
}

void set_interrupt_check(std::function<void()> check) {
    installed() = std::move(check);
}

void check_interrupt() {
    if (!suspended && installed()) {
        installed()();
    }
    if (!suspended && of_thread != nullptr) {
        (*of_thread)();
    }
}

void InterruptPoints::look() {
    constexpr std::int64_t look_every_ns = 100'000'000;
    if (const std::int64_t now = now_ns(); now >= next_ns_) {
        next_ns_ = now + look_every_ns;
        check_interrupt();
    }
}

}  // namespace fluvial
