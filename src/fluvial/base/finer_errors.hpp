// SPDX-License-Identifier: Apache-2.0
/// Errors that say more than the classes of error.hpp from which they derive: those for which
/// Python has a class of its own (TypeError, KeyError, IndexError, FileNotFoundError,
/// PermissionError). Included where they are thrown.
#pragma once

#include "fluvial/base/error.hpp"

namespace fluvial {

#define FLUVIAL_ERROR(Name, Base)                                    \
    class Name : public Base {                                       \
      public:                                                        \
        using Base::Base;                                            \
        const char* kind() const noexcept override { return #Name; } \
    }

FLUVIAL_ERROR(WrongType, InvalidArgument);    ///< a value of a type that the call does not take
FLUVIAL_ERROR(UnknownName, InvalidArgument);  ///< nothing has this name: a dataset, an option …
FLUVIAL_ERROR(OutOfBounds, InvalidArgument);  ///< an index, axis or region that is not in the data
FLUVIAL_ERROR(NoSuchFile, SystemError);       ///< a path at which there is nothing
FLUVIAL_ERROR(NotPermitted, SystemError);     ///< a file or a call that this user may not use

#undef FLUVIAL_ERROR

/// Characters that a message shows at most: of a caller's text, which stands in quotes; and of what
/// Fluvial itself says that it saw (a path, how full a queue is).
inline constexpr std::size_t seen_max = 80, seen_facts_max = 400;

/// `value` with its middle left out where it is longer than `characters_max` (of UTF-8);
/// describe_problem does this to what was seen.
std::string shortened(std::string_view value, std::size_t characters_max = seen_max);

}  // namespace fluvial
