// SPDX-License-Identifier: Apache-2.0
/// Where exceptions end and codes begin.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "fluvial/c/fluvial.h"

namespace fluvial::c {

/// The code of the exception; its text becomes this thread's last message.
int code_of(std::exception_ptr failure) noexcept;

/// FLUVIAL_OK, or the code of what `work` threw.
template <class Work>
int guarded(Work&& work) noexcept {
    try {
        std::forward<Work>(work)();
        return FLUVIAL_OK;
    } catch (...) {
        return code_of(std::current_exception());
    }
}

/// What fluvial_last_warnings() says from now on.
void remember_warnings(const std::vector<std::string>& warnings);

/// Throws InvalidArgument for a null pointer; `name` is the argument's.
void check_given(const void* pointer, const char* name);

/// While it lives, this thread is in a function of the program that an object I/O calls.
class InFunction {
  public:
    InFunction() noexcept;
    ~InFunction();
    InFunction(const InFunction&) = delete;
    InFunction& operator=(const InFunction&) = delete;
};
/// Throws InvalidArgument inside of one: the other ranks would wait for `call` in vain.
void check_outside_functions(const char* call);

}  // namespace fluvial::c
