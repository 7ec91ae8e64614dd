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

}  // namespace fluvial::c
