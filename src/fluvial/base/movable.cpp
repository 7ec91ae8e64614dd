// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/movable.hpp"

namespace fluvial {

void throw_moved_from() {
    throw InvalidArgument(Problem{"this object has been moved from", "an empty object",
                                  "the one that it was moved to", ""});
}

}  // namespace fluvial
