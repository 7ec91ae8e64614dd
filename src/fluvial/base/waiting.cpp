// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/waiting.hpp"

#include <limits>

#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"

namespace fluvial {

namespace {

/// A program without any verb, such as a test of a lower folder.
void wait_alone(const std::function<bool()>& done, const Deadline& deadline, std::string_view what,
                Meanwhile /*meanwhile*/) {
    constexpr int yields = 2000;
    constexpr std::int64_t nap_ns = 200'000;
    constexpr int naps_between_checks = 500;  // about a tenth of a second
    for (int looks = 0; !done(); ++looks) {
        if (deadline.passed()) {
            throw_late(what);
        }
        if (looks < yields) {
            yield();
            continue;
        }
        if (looks % naps_between_checks == 0) {
            check_interrupt();
        }
        sleep_ns(nap_ns);
    }
}

// Static initialisation sets it to this before anything else can set it.
constinit WaitUntil chosen = wait_alone;

}  // namespace

void set_wait_until(WaitUntil wait) {
    chosen = wait;
}

void wait_until(const std::function<bool()>& done, const Deadline& deadline, std::string_view what,
                Meanwhile meanwhile) {
    chosen(done, deadline, what, meanwhile);
}

void wait_until(const std::function<bool()>& done, std::string_view what, Meanwhile meanwhile) {
    chosen(done, Deadline(std::numeric_limits<double>::infinity()), what, meanwhile);
}

bool came_in_time(const std::function<bool()>& done, const Deadline& deadline,
                  Meanwhile meanwhile) {
    try {
        wait_until(done, deadline, "what was waited for did not come", meanwhile);
    } catch (const TimedOut&) {
        if (!deadline.passed()) {  // that of a wait around this one
            throw;
        }
        return false;
    }
    return true;
}

void throw_late(std::string_view what) {
    throw TimedOut(Problem{text(what, " in time"), "", "",
                           "A process is late, stopped or dead: look at the job, or raise the "
                           "time-out"});
}

}  // namespace fluvial
