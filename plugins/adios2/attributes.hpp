// SPDX-License-Identifier: Apache-2.0
/// Attributes of an ADIOS2 IO and those of a series.
#pragma once

#include <map>
#include <string>

#include <adios2/cxx/IO.h>

#include "fluvial/describe/attribute.hpp"

namespace fluvial::adios2_engine {

/// The types of ADIOS2 that attributes had, by their names; not of those that keep theirs in a
/// series: int64, double and text.
using AttributeTypes = std::map<std::string, std::string>;

/// All that an IO has, by their whole names: those of a variable begin with its name and "/".
struct IoAttributes {
    Attributes values;
    AttributeTypes types;
};

/// Throws InvalidArgument for types that attributes of a series cannot have.
IoAttributes attributes_of(adios2::IO& io);

/// Adds one that says the types of these, whose whole names begin with `prefix`, if there are any.
void mark_types(Attributes& attributes, const AttributeTypes& types, const std::string& prefix);
/// Takes it out again.
AttributeTypes take_types(Attributes& attributes);

/// Makes the attribute of the IO be this, of that type; empty: int64, uint64, double or text, uint8
/// of a bool, or an array of them.
void define(adios2::IO& io, const std::string& name, const Attribute& value,
            const std::string& type);

}  // namespace fluvial::adios2_engine
