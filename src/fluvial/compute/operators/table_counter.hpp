// SPDX-License-Identifier: Apache-2.0
/// Counts runs of elements in the grid of a sketch by the kernels of histograms.
#pragma once

#include <memory>

#include "fluvial/compute/operators/bin_edges.hpp"
#include "fluvial/compute/operators/quantile_sketch.hpp"
#include "fluvial/compute/run.hpp"

namespace fluvial::compute {

class TableCounter {
  public:
    /// Counts a run of native float32 or float64 in a sketch that has made room for it; the sketch
    /// has the counts after settle() at the latest. False: these kernels cannot.
    bool count(const Run& run, QuantileSketch& sketch);
    /// Adds to the sketch what it does not have yet. Its grid may have become coarser meanwhile.
    void settle();

  private:
    std::int32_t width() const { return static_cast<std::int32_t>(bins_) + 3; }
    bool fits(QuantileSketch& sketch) const;
    bool prepare(QuantileSketch& sketch);

    QuantileSketch* sketch_ = nullptr;
    int exponent_ = 0;
    std::int64_t first_ = 0;
    Index bins_ = 0, counted_ = 0;
    std::unique_ptr<BinEdges> edges_;
    std::vector<std::uint32_t> counts_;  ///< tables of width() entries
};

}  // namespace fluvial::compute
