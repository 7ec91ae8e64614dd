// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/bell.hpp"

#include <climits>
#include <ctime>
#include <memory>
#include <new>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fluvial::host {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace

void Bell::sleep(std::int64_t ns) {
    const timespec most{static_cast<time_t>(ns / second_ns), static_cast<long>(ns % second_ns)};
    syscall(SYS_futex, &asleep_, FUTEX_WAIT, 1, &most, nullptr, 0);
    disarm();
}

void Bell::wake() {
    if (asleep_.exchange(0, std::memory_order_seq_cst) == 0) {
        return;
    }
    syscall(SYS_futex, &asleep_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

Bells::Bells(const mpi::Comm& host)
    : memory_(host::HostMemory::allocate(host, 2 * sizeof(Bell))), any_(true) {
    new (of(host.rank())) Bell;
    host.barrier();
}

Bell* Bells::of(int host_rank) const {
    if (!any_ || host_rank < 0) {
        return nullptr;
    }
    void* at = memory_.memory(host_rank).data();
    std::size_t space = 2 * sizeof(Bell);
    return static_cast<Bell*>(std::align(alignof(Bell), sizeof(Bell), at, space));
}

}  // namespace fluvial::host
