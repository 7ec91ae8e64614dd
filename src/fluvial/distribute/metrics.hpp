// SPDX-License-Identifier: Apache-2.0
/// How good a distribution is, by the properties of Poeschel et al. 2021, section 3.1, which
/// describes them in words; the numbers are ours.
#pragma once

#include <string_view>

#include "fluvial/distribute/strategy.hpp"

namespace fluvial::distribute {

struct Metrics {
    /// "Communication partners should be bounded in number and located close": the share of the
    /// elements that are read in the layer where they were written; 0 to 1, 1 is best.
    double locality = 1;
    Index partners_max = 0;    ///< source ranks of the reader that has most
    double partners_mean = 0;  ///< over all readers
    /// "As even as possible": the elements of the reader that has most over the mean; 1 is best.
    double balance = 1;
    Index bytes_max = 0;  ///< of the reader that has most
    /// "Loaded chunks should coincide with those that were written": the share of the elements that
    /// are read as a part of a whole chunk; 0 to 1, 1 is best.
    double alignment = 1;
    Index pieces = 0;  ///< that are loaded, by all readers
};

/// The metrics of the assigned pieces; without any, the best values. `layer` is the one that counts
/// as close. O(pieces · log).
Metrics metrics_of(const Request& request, const Distribution& made,
                   std::string_view layer = "host");

}  // namespace fluvial::distribute
