// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/error.hpp"

#include <cstring>

namespace fluvial {

std::string describe_problem(const Problem& problem) {
    std::string out = problem.what;
    if (!problem.seen.empty()) {
        out += ": got " + problem.seen;
    }
    if (!problem.allowed.empty()) {
        out += "; allowed: " + problem.allowed;
    }
    if (!problem.remedy.empty()) {
        out += ". " + problem.remedy;
    }
    return out;
}

void throw_error(std::string_view kind, const std::string& message) {
    if (kind == "InvalidArgument") {
        throw InvalidArgument(message);
    }
    if (kind == "OutOfRange") {
        throw OutOfRange(message);
    }
    if (kind == "TimedOut") {
        throw TimedOut(message);
    }
    if (kind == "PeerLost") {
        throw PeerLost(message);
    }
    if (kind == "PeerStalled") {
        throw PeerStalled(message);
    }
    if (kind == "Refused") {
        throw Refused(message);
    }
    if (kind == "StaleContact") {
        throw StaleContact(message);
    }
    if (kind == "DamagedFile") {
        throw DamagedFile(message);
    }
    if (kind == "SystemError") {
        throw SystemError(message);
    }
    throw Error(message);
}

void throw_errno(const std::string& what, int error_number, const std::string& remedy) {
    throw SystemError(Problem{
        what, text(std::strerror(error_number), " (errno ", error_number, ")"), "", remedy});
}

}  // namespace fluvial
