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
    const char* const how =
        is_stopped(silence.process) ? " was stopped by a signal" : " does not run";
    return said(silence, text(" on ", host_name(), how),
                text("Continue it (kill -CONT ", silence.process.id, ")",
                     silence.of.empty() ? "" : text(" and begin ", silence.of, " again")));
}

std::string silent_afar(const Silence& silence) {
    return said(silence, " on another host does not run, or is not reached",
                "Look at its host and at the network");
}

}  // namespace fluvial::progress
