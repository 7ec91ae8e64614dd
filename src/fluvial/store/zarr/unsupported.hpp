// SPDX-License-Identifier: Apache-2.0
/// What Zarr allows and this reader does not have.
#pragma once

#include <string>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

/// Thrown for sound metadata, unlike every other error that reading them makes.
class UnsupportedZarr final : public InvalidArgument {
  public:
    /// As ("codec 'lz4'", "none, gzip, zlib, zstd, shuffle"); `also` says what would help beside
    /// Python.
    UnsupportedZarr(const std::string& seen, const std::string& allowed,
                    const std::string& also = "")
        : InvalidArgument(Problem{"C++ does not read it", seen, allowed,
                                  also + "Python does, where zarr's library does: fluvial.open, or "
                                         "`fluvial pipe` makes a copy for C++"}) {}
};

}  // namespace fluvial::store
