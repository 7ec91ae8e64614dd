// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/task.hpp"

#include <cmath>
#include <tuple>
#include <utility>

namespace fluvial::flow {

bool TaskOptions::operator==(const TaskOptions& other) const {
    const auto others = [](const TaskOptions& options) {
        return std::tie(options.ranks, options.priority, options.near, options.timeout_s,
                        options.retries, options.keep, options.keep_parts, options.fresh,
                        options.kind, options.exclusive, options.resources, options.near_task);
    };
    const bool same_cost =
        cost_s == other.cost_s || (std::isnan(cost_s) && std::isnan(other.cost_s));
    return same_cost && others(*this) == others(other);
}

std::shared_ptr<const Bytes> shared_bytes(Bytes bytes) {
    static const auto empty = std::make_shared<const Bytes>();
    return bytes.empty() ? empty : std::make_shared<const Bytes>(std::move(bytes));
}

}  // namespace fluvial::flow
