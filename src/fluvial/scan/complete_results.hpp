// SPDX-License-Identifier: Apache-2.0
/// What `skipna = false` means of elements that are missing, whether declared so or left out by a
/// condition: a result of which one is missing is NaN, as in xarray.
///
/// Elements are passed over by a mask whatever the operator; so each input's are counted beside
/// what was asked for, and results of too few are NaN.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fluvial/scan/request.hpp"

namespace fluvial::scan {

class CompleteResults {
  public:
    /// No result is looked at.
    CompleteResults() = default;
    /// Adds to the request, which has a selection, what counts the elements.
    explicit CompleteResults(Request& request);

    using Results = std::map<std::string, compute::Result>;
    /// Of each group: makes NaN of what lacks elements, and takes the counts away. Integers become
    /// float64.
    void apply(std::vector<Results>& groups) const;

  private:
    struct Entry {
        std::string name;
        std::vector<std::string> counts;
        bool several;  ///< its results have an axis of their own behind the kept ones
    };
    std::vector<Entry> entries_;
    std::vector<Index> required_;  ///< by group
};

}  // namespace fluvial::scan
