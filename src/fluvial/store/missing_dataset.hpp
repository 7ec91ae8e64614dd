// SPDX-License-Identifier: Apache-2.0
/// What every format says of a name that it cannot serve.
#pragma once

#include "fluvial/store/file.hpp"

namespace fluvial::store {

/// InvalidArgument that lists the file's datasets.
[[noreturn]] void throw_no_dataset(const File& file, const std::string& name);
/// InvalidArgument for a dataset that is there but cannot be used; `why` is what it is, e.g. "text
/// (NC_CHAR)".
[[noreturn]] void throw_unusable_dataset(const File& file, const std::string& name,
                                         const std::string& why);

}  // namespace fluvial::store
