// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include "fluvial/base/finer_errors.hpp"

namespace fluvial {
namespace {

/// Whether a byte goes on with the UTF-8 character that another one began.
bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

/// On one line, and without what a terminal obeys: such characters as escapes of C.
std::string on_one_line(const std::string& value) {
    std::string out;
    for (const char byte : value) {
        const auto code = static_cast<unsigned char>(byte);
        if (byte == '\n') {
            out += "\\n";
        } else if (code < 0x20 || code == 0x7F) {
            constexpr std::string_view digits = "0123456789abcdef";
            out += text("\\x", digits[code / 16], digits[code % 16]);
        } else {
            out += byte;
        }
    }
    return out;
}

}  // namespace

std::string shortened(std::string_view value, std::size_t characters_max) {
    std::vector<std::size_t> begins;  // of characters
    for (std::size_t i = 0; i < value.size(); ++i) {
        if (!is_continuation(value[i])) {
            begins.push_back(i);
        }
    }
    if (begins.size() <= characters_max || characters_max == 0) {
        return std::string(value);
    }
    const std::size_t left = (characters_max - 1) * 2 / 3;
    const std::size_t right = characters_max - 1 - left;
    return text(value.substr(0, begins[left]), "…", value.substr(begins[begins.size() - right]));
}

std::string describe_problem(const Problem& problem) {
    std::string out = on_one_line(problem.what);
    if (!problem.seen.empty()) {
        const bool callers = problem.seen.front() == '\'';
        out += ": got " + shortened(on_one_line(problem.seen), callers ? seen_max : seen_facts_max);
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
    if (kind == "WrongType") {
        throw WrongType(message);
    }
    if (kind == "UnknownName") {
        throw UnknownName(message);
    }
    if (kind == "OutOfBounds") {
        throw OutOfBounds(message);
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
    if (kind == "TaskCancelled") {
        throw TaskCancelled(message);
    }
    if (kind == "Refused") {
        throw Refused(message);
    }
    if (kind == "DamagedMessage") {
        throw DamagedMessage(message);
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
    if (kind == "NoSuchFile") {
        throw NoSuchFile(message);
    }
    if (kind == "NotPermitted") {
        throw NotPermitted(message);
    }
    throw Error(message);
}

void throw_errno(const std::string& what, int error_number, const std::string& remedy) {
    const Problem problem{what, text(std::strerror(error_number), " (errno ", error_number, ")"),
                          "", remedy};
    switch (error_number) {
        case ENOENT:
            throw NoSuchFile(problem);
        case EACCES:
        case EPERM:
            throw NotPermitted(problem);
        default:
            throw SystemError(problem);
    }
}

}  // namespace fluvial
