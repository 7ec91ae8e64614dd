// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/boundary.hpp"

#include <new>

#include "fluvial/base/error.hpp"

namespace fluvial::c {
namespace {

thread_local std::string last_message, last_warnings;
thread_local int functions_entered = 0;

int remember(int code, const char* message) noexcept {
    try {
        last_message = message;
    } catch (...) {
        last_message.clear();  // no memory even for that
    }
    return code;
}

}  // namespace

int code_of(std::exception_ptr failure) noexcept {
    try {
        std::rethrow_exception(std::move(failure));
    } catch (const OutOfRange& error) {
        return remember(FLUVIAL_ERANGE, error.what());
    } catch (const InvalidArgument& error) {
        return remember(FLUVIAL_EINVAL, error.what());
    } catch (const DamagedFile& error) {
        return remember(FLUVIAL_EFILE, error.what());
    } catch (const SystemError& error) {
        return remember(FLUVIAL_ESYSTEM, error.what());
    } catch (const TimedOut& error) {
        return remember(FLUVIAL_ETIMEOUT, error.what());
    } catch (const PeerLost& error) {
        return remember(FLUVIAL_EPEER, error.what());
    } catch (const std::bad_alloc& error) {
        return remember(FLUVIAL_ENOMEM, error.what());
    } catch (const std::exception& error) {
        return remember(FLUVIAL_EOTHER, error.what());
    } catch (...) {
        return remember(FLUVIAL_EOTHER, "an exception of unknown type");
    }
}

void remember_warnings(const std::vector<std::string>& warnings) {
    last_warnings.clear();
    for (const std::string& warning : warnings) {
        last_warnings += (last_warnings.empty() ? "" : "\n") + warning;
    }
}

void check_given(const void* pointer, const char* name) {
    if (pointer == nullptr) {
        throw InvalidArgument(
            Problem{std::string(name) + " is missing", "a null pointer", "an address", ""});
    }
}

InFunction::InFunction() noexcept {
    ++functions_entered;
}

InFunction::~InFunction() {
    --functions_entered;
}

void check_outside_functions(const char* call) {
    if (functions_entered != 0) {
        throw InvalidArgument(Problem{"a function that an object I/O calls cannot call this", call,
                                      "a call of the program's own", ""});
    }
}

}  // namespace fluvial::c

const char* fluvial_last_message(void) {
    return fluvial::c::last_message.c_str();
}

const char* fluvial_last_warnings(void) {
    return fluvial::c::last_warnings.c_str();
}

const char* fluvial_strerror(int code) {
    switch (code) {
        case FLUVIAL_OK:
            return "no error";
        case FLUVIAL_EINVAL:
            return "a value that the call cannot accept";
        case FLUVIAL_EFILE:
            return "the file is damaged";
        case FLUVIAL_ESYSTEM:
            return "the operating system or MPI refused a call";
        case FLUVIAL_ERANGE:
            return "a number does not fit the type asked for";
        case FLUVIAL_ETIMEOUT:
            return "a deadline passed";
        case FLUVIAL_ENOMEM:
            return "no memory";
        case FLUVIAL_EPEER:
            return "another process has died, is stopped, or has failed";
        case FLUVIAL_EOTHER:
            return "an error of another kind";
        default:
            return "not a code of Fluvial";
    }
}
