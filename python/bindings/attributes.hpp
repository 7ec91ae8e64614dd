// SPDX-License-Identifier: Apache-2.0
/// Attributes to and from Python: its int is int64 where that holds it.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "fluvial/describe/attribute.hpp"

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <>
struct type_caster<fluvial::Unsigned> {
    NB_TYPE_CASTER(fluvial::Unsigned, const_name("int"))

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        make_caster<std::uint64_t> number;
        if (!number.from_python(source, flags, cleanup)) {
            return false;
        }
        value = fluvial::Unsigned(number.value);
        return true;
    }
    static handle from_cpp(fluvial::Unsigned value, rv_policy policy,
                           cleanup_list* cleanup) noexcept {
        return make_caster<std::uint64_t>::from_cpp(static_cast<std::uint64_t>(value), policy,
                                                    cleanup);
    }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
