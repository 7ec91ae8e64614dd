// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/request.hpp"

#include <algorithm>

namespace fluvial::flow {

int Widths::up_to(int ranks) const {
    if (ranks < least) {
        return 0;
    }
    if (choices.empty()) {
        return std::min(ranks, most);
    }
    const auto above = std::upper_bound(choices.begin(), choices.end(), ranks);
    return above == choices.begin() ? 0 : *(above - 1);
}

}  // namespace fluvial::flow
