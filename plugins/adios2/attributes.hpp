// SPDX-License-Identifier: Apache-2.0
/// Attributes of an ADIOS2 IO and those of a series.
#pragma once

#include <string>

#include <adios2/cxx/IO.h>

#include "fluvial/describe/attribute.hpp"

namespace fluvial::adios2_engine {

/// All that the IO has, by their whole names: those of a variable begin with its name and "/".
/// Throws InvalidArgument for types that attributes of a series cannot have.
Attributes attributes_of(adios2::IO& io);

/// Makes the attribute of the IO be this. Its type is int64, uint64, double or text, uint8 of a
/// bool, or an array of them.
void define(adios2::IO& io, const std::string& name, const Attribute& value);

}  // namespace fluvial::adios2_engine
