// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/silence.hpp"

#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::progress {

namespace {

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "this host";
}

std::string said(const Silence& silence, const std::string& how, const std::string& remedy) {
    return describe_problem({text("process ", silence.process.id, how),
                             text("no heartbeat for ", silence.silent_s, " s"),
                             text("up to stall_timeout=", silence.stall_timeout_s, " s"),
                             silence.of.empty() ? remedy
                                                : text(remedy, "; a larger stall_timeout of ",
                                                       silence.of, " waits longer")});
}

}  // namespace

std::string silent_here(const Silence& silence) {
    const std::string again = silence.of.empty() ? "" : text(" and begin ", silence.of, " again");
    if (is_stopped(silence.process)) {
        return said(silence, text(" on ", host_name(), " was stopped by a signal"),
                    text("Continue it (kill -CONT ", silence.process.id, ")", again));
    }
    return said(silence, text(" on ", host_name(), " takes no part, though no signal stopped it"),
                text("See whether it has closed its end, hangs, or finds no core to run on (ps -p ",
                     silence.process.id, " -o stat,wchan,time)", again));
}

std::string silent_afar(const Silence& silence) {
    return said(silence, " on another host does not run, or is not reached",
                "Look at its host and at the network");
}

}  // namespace fluvial::progress
