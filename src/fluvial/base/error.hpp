// SPDX-License-Identifier: Apache-2.0
/// Errors that the world or the caller caused: each says what went wrong, the value seen, what is
/// allowed and what to try next. Our own bugs are assertions (base/assert.hpp), not exceptions.
/// Some that derive from these are in base/finer_errors.hpp.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fluvial {

/// The four parts of a useful message. Empty parts are left out of the text.
struct Problem {
    std::string what;     ///< what went wrong, e.g. "queue_steps is out of range"
    std::string seen;     ///< the offending value
    std::string allowed;  ///< the values that would have been accepted
    std::string remedy;   ///< the next step to try
};

/// "what: got SEEN; allowed: ALLOWED. REMEDY."
std::string describe_problem(const Problem& problem);

class Error : public std::runtime_error {
  public:
    explicit Error(const Problem& problem) : std::runtime_error(describe_problem(problem)) {}
    explicit Error(const std::string& message) : std::runtime_error(message) {}
    /// Name of the class, which lets an error cross ranks and be rethrown there as the same type.
    virtual const char* kind() const noexcept { return "Error"; }
};

#define FLUVIAL_ERROR(Name, Base)                                    \
    class Name : public Base {                                       \
      public:                                                        \
        using Base::Base;                                            \
        const char* kind() const noexcept override { return #Name; } \
    }

FLUVIAL_ERROR(InvalidArgument, Error);       ///< a value that the call cannot accept
FLUVIAL_ERROR(OutOfRange, InvalidArgument);  ///< a number that the type asked for cannot hold
FLUVIAL_ERROR(TimedOut, Error);              ///< a deadline passed; the object is still usable
FLUVIAL_ERROR(PeerLost, Error);              ///< a process of the other (or the own) job is dead
FLUVIAL_ERROR(PeerStalled, PeerLost);  ///< alive but without a heartbeat, e.g. stopped by a signal
FLUVIAL_ERROR(TaskCancelled, Error);   ///< of a pool: by the program that submitted it
FLUVIAL_ERROR(Refused, Error);         ///< authentication failed
FLUVIAL_ERROR(StaleContact, Error);    ///< a contact file whose writer is gone
FLUVIAL_ERROR(DamagedFile, Error);     ///< a file whose bytes are not what its format says
FLUVIAL_ERROR(DamagedMessage, Error);  ///< bytes that came by messages are not those sent
FLUVIAL_ERROR(SystemError, Error);     ///< the operating system or MPI refused a call

#undef FLUVIAL_ERROR

/// Throws the class that `kind` names (as Error::kind gives it) with `message`; Error for an
/// unknown name.
[[noreturn]] void throw_error(std::string_view kind, const std::string& message);

/// SystemError with `what`, errno's text and number, and a remedy.
[[noreturn]] void throw_errno(const std::string& what, int error_number,
                              const std::string& remedy = "");

/// Concatenates anything that can be streamed.
template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

}  // namespace fluvial
