// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/table_counter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace fluvial::compute {
namespace {

constexpr Index counted_max = Index{1} << 31;  ///< and a run more: fit into 32 bits
constexpr Index entries_max = 8192;            ///< of several tables: 32 KiB
/// Beyond these the edges of neighbouring cells are no longer distinct or no ordinary numbers.
constexpr std::int64_t cell_max = std::int64_t{1} << 52;
constexpr int exponent_min = -1000;

}  // namespace

bool TableCounter::count(const Run& run, QuantileSketch& sketch) {
    if (!fits(sketch) || counted_ > counted_max) {
        settle();
        if (!prepare(sketch)) {
            return false;
        }
    }
    const auto tables = static_cast<std::int32_t>(counts_.size()) / width();
    const BinTables to{counts_.data(), tables, width()};
    if (run.dtype == DType::Float32) {
        kernels().count_bins_float[0](run.as<float>(), run.count, edges_->search(), to);
    } else {
        kernels().count_bins_double[0](run.as<double>(), run.count, edges_->search(), to);
    }
    counted_ += run.count;
    return true;
}

void TableCounter::settle() {
    if (counted_ == 0) {
        return;
    }
    const int shift = std::min(sketch_->exponent() - exponent_, 63);
    double* const cells = sketch_->cells().data();
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        if (counts_[i] != 0) {
            const std::int64_t cell = first_ + static_cast<std::int64_t>(i) % width() - 1;
            cells[(cell >> shift) - sketch_->first_cell()] += counts_[i];
            counts_[i] = 0;
        }
    }
    counted_ = 0;
}

bool TableCounter::fits(QuantileSketch& sketch) const {
    return &sketch == sketch_ && sketch.exponent() == exponent_ && sketch.first_cell() == first_ &&
           static_cast<Index>(sketch.cells().size()) == bins_;
}

bool TableCounter::prepare(QuantileSketch& sketch) {
    sketch_ = nullptr;
    exponent_ = sketch.exponent();
    first_ = sketch.first_cell();
    bins_ = static_cast<Index>(sketch.cells().size());
    std::vector<double> edges(static_cast<std::size_t>(bins_) + 1);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        edges[i] = std::ldexp(static_cast<double>(first_ + static_cast<Index>(i)), exponent_);
    }
    if (!std::isfinite(edges.front()) || !std::isfinite(edges.back()) ||
        std::abs(first_) > cell_max || exponent_ < exponent_min) {
        return false;
    }
    sketch_ = &sketch;
    edges_ = std::make_unique<BinEdges>(std::move(edges), "quantile");
    const Index tables = 16 * width() <= entries_max ? 16 : 8 * width() <= 2 * entries_max ? 8 : 1;
    counts_.assign(static_cast<std::size_t>(tables * width()), 0);
    return true;
}

}  // namespace fluvial::compute
