// SPDX-License-Identifier: Apache-2.0
/// FLUVIAL_ASSERT(condition, values...): our own bug. Active where FLUVIAL_ASSERTIONS is defined
/// (dev, audit, asan presets); prints file, line and the values and throws std::logic_error, so
/// that the job can still unwind.
#pragma once

#include <stdexcept>

#include "fluvial/base/error.hpp"

#ifdef FLUVIAL_ASSERTIONS
#define FLUVIAL_ASSERT(condition, ...)                                                     \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            throw std::logic_error(                                                        \
                ::fluvial::text(__FILE__, ":", __LINE__, ": bug in Fluvial: ", #condition, \
                                " does not hold; " __VA_OPT__(, ) __VA_ARGS__));           \
        }                                                                                  \
    } while (false)
#else
#define FLUVIAL_ASSERT(condition, ...) static_cast<void>(0)
#endif
