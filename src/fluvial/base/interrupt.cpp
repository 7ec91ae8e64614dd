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
    if (const auto now = Clock::now(); now >= next_) {
        next_ = now + std::chrono::milliseconds(100);
        check_interrupt();
    }
}

}  // namespace fluvial
