// SPDX-License-Identifier: Apache-2.0
/// Edges of a histogram's bins, with what finds the bin of a number fast. The edges themselves
/// always decide: whatever their spacing, bins are exactly NumPy's for float64 edges.
#pragma once

#include <string>
#include <vector>

#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {

class BinEdges {
  public:
    /// Throws InvalidArgument, in the name of the operator `name`, unless there are two edges at
    /// least, each larger than the one before.
    BinEdges(std::vector<double> edges, const std::string& name);
    BinEdges(const BinEdges&) = delete;
    BinEdges& operator=(const BinEdges&) = delete;

    Index bins() const { return search_.count; }
    /// As long as this object lives.
    const BinSearch& search() const { return search_; }
    Array array() const;

  private:
    bool find_even();
    void make_cells(BinSearch::Cells kind);

    std::vector<double> edges_;
    BinSearch search_;
    std::vector<std::int32_t> below_;
};

}  // namespace fluvial::compute
