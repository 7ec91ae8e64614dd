// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/error.hpp"
#include "fluvial/base/toml.hpp"

namespace fluvial {

Json parse_toml(std::string_view) {
    throw InvalidArgument(Problem{"this build of Fluvial reads no TOML",
                                  "FLUVIAL_TOML=OFF, or no header toml++/toml.h when it was built",
                                  "JSON",
                                  "Install toml++ (Debian: libtomlplusplus-dev) and build "
                                  "Fluvial anew"});
}

}  // namespace fluvial
