// SPDX-License-Identifier: Apache-2.0
#include "fluvial/host/event.hpp"

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::host {

Event::Event() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!descriptor_.valid()) {
        throw_errno("cannot create an event", errno, "Raise the limit on open files (ulimit -n)");
    }
}

void Event::ring() const {
    const std::uint64_t one = 1;
    // A counter that is full has been rung.
    [[maybe_unused]] const auto written = ::write(descriptor(), &one, sizeof one);
}

void Event::clear() const {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto got = ::read(descriptor(), &rings, sizeof rings);
}

}  // namespace fluvial::host
