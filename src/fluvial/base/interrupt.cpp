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

}  // namespace

WithoutInterrupts::WithoutInterrupts() : before_(std::exchange(suspended, true)) {}

WithoutInterrupts::~WithoutInterrupts() {
    suspended = before_;
}

void set_interrupt_check(std::function<void()> check) {
    installed() = std::move(check);
}

void check_interrupt() {
    if (!suspended && installed()) {
        installed()();
    }
}

}  // namespace fluvial
