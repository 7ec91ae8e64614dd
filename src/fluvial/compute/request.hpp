// SPDX-License-Identifier: Apache-2.0
/// What is to be computed of datasets: the part that reductions of live steps
/// (stage/reduce.hpp) and scans of files (scan/request.hpp) have in common.
#pragma once

#include <optional>
#include <vector>

#include "fluvial/compute/reduction.hpp"
#include "fluvial/describe/selection.hpp"

namespace fluvial::compute {

struct Request {
    std::vector<Reduction::Entry> entries;
    std::optional<Selection> selection;  ///< none: everything
    std::vector<int> over;  ///< axes to reduce; empty: all. Negative ones count from the end
};

/// A selection, as ranks say it to each other.
inline std::string words_of(const Selection& selection) {
    return text("start ", selection.start, " count ", selection.count, " stride ",
                selection.stride);
}

}  // namespace fluvial::compute
