// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/doorbell.hpp"

#include <algorithm>
#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/spin.hpp"

namespace fluvial::host {

namespace {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == sizeof(std::uint32_t));

/// While `word` has this value, until it is woken, for `ns` at most.
void sleep_while(Word& word, std::uint32_t value, std::int64_t ns) {
    constexpr std::int64_t second_ns = 1'000'000'000;
    const timespec most{static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &most, nullptr, 0);
}

void wake_all(Word& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void Doorbell::ring() {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) {
        wake_all(rings_);
    }
}

void Doorbell::wait(std::uint32_t ticket, std::int64_t timeout_ns, std::int64_t spin_ns) {
    const std::int64_t begin = now_ns();
    const std::int64_t spin_until = begin + std::min(spin_ns, timeout_ns);
    // To yield takes as long as to be heard late, so not at every look at the clock; but what else
    // is to run on this core does, soon.
    constexpr std::int64_t yield_ns = 10'000;
    std::int64_t yielded = begin;
    for (std::int64_t now = begin; now < spin_until; now = now_ns()) {
        for (int i = 0; i < 64; ++i) {
            if (rings_.load(std::memory_order_acquire) != ticket) {
                return;
            }
            spin();
        }
        if (now - yielded > yield_ns) {
            yield();
            yielded = now;
        }
    }
    const std::int64_t left = timeout_ns - (now_ns() - begin);
    if (left <= 0) {
        return;
    }
    // A sleeper that is killed leaves the count high: rings then cost a needless system call,
    // nothing worse.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (rings_.load(std::memory_order_seq_cst) == ticket) {
        sleep_while(rings_, ticket, left);
    }
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Bell::sleep(std::int64_t ns) {
    sleep_while(asleep_, 1, ns);
    disarm();
}

void Bell::wake() {
    if (asleep_.exchange(0, std::memory_order_seq_cst) != 0) {
        wake_all(asleep_);
    }
}

}  // namespace fluvial::host
