// SPDX-License-Identifier: Apache-2.0
/// What C programs ask for, in memory of theirs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fluvial/describe/attribute.hpp"

namespace fluvial::c {

/// With the zero behind it. Throws InvalidArgument that says `what` does not fit.
void copy_text(const std::string& from, std::size_t size, char* to, const char* what);

/// Throws InvalidArgument that lists the names when there is none of this one.
const Attribute& attribute_in(const Attributes& attributes, const char* name);
/// The text that it is; throws InvalidArgument for anything else, where `for_numbers` is the
/// function to call instead.
void copy_text_attribute(const Attribute& attribute, const char* name, std::size_t size,
                         char* value, const char* for_numbers);
/// The numbers that it is, of which there must be `count`; likewise. Throws OutOfRange for whole
/// ones that float64 does not tell from their neighbours.
void copy_number_attribute(const Attribute& attribute, const char* name, std::size_t count,
                           double* values, const char* for_text);
/// Throws OutOfRange for a number that is not whole, or not one of 64 bits.
void copy_number_attribute(const Attribute& attribute, const char* name, std::size_t count,
                           long long* values, const char* for_text);

}  // namespace fluvial::c
