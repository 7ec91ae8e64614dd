// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/bin_edges.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "fluvial/base/error.hpp"
#include "fluvial/base/terms.hpp"

namespace fluvial::compute {
namespace {

constexpr std::size_t edges_max = 1 << 28;
/// Nearer to even spacing than this, counting bins finds a bin, or one beside it: float32 edges
/// are that near, and so are some that people round.
constexpr double slack_max = 0.49;
constexpr std::int32_t cells_a_bin = 8;
constexpr std::int32_t cells_min = 64, cells_max = 1 << 20;

/// The number of edges in the fullest cell.
std::int32_t most_edges(const std::vector<std::int32_t>& below) {
    std::int32_t most = 0;
    for (std::size_t cell = 0; cell + 1 < below.size(); ++cell) {
        most = std::max(most, below[cell + 1] - below[cell]);
    }
    return most;
}

}  // namespace

BinEdges::BinEdges(std::vector<double> edges, const std::string& name) : edges_(std::move(edges)) {
    const bool ascending = std::is_sorted(edges_.begin(), edges_.end(), std::less_equal<>());
    const bool ordered =
        std::none_of(edges_.begin(), edges_.end(), [](double e) { return std::isnan(e); });
    if (edges_.size() < 2 || edges_.size() > edges_max || !ordered || !ascending) {
        throw InvalidArgument(
            Problem{name + ": unusable edges",
                    text(edges_.size(), " edges: ", exact(std::span<const double>(edges_))),
                    "2 or more numbers, each larger than the one before",
                    "Sort them and drop duplicates, or use numpy.linspace"});
    }
    search_.edges = edges_.data();
    search_.count = static_cast<std::int32_t>(edges_.size() - 1);
    search_.uniform = find_even();
    if (search_.uniform) {
        return;
    }
    make_cells(BinSearch::Cells::Even);
    const std::vector<std::int32_t> even = below_;
    const BinSearch by_even = search_;
    make_cells(BinSearch::Cells::Octaves);
    if (below_.empty() || (!even.empty() && most_edges(even) <= most_edges(below_))) {
        below_ = even;
        search_ = by_even;
    }
    search_.below = below_.data();
}

/// Whether counting bins of equal width finds a bin; how, and how well.
bool BinEdges::find_even() {
    const double width = (edges_.back() - edges_.front()) / search_.count;
    search_.scale = 1 / width;
    bool even = std::isfinite(width) && std::isfinite(search_.scale);
    for (std::size_t i = 0; i < edges_.size() && even; ++i) {
        const double place = edges_.front() + static_cast<double>(i) * width;
        search_.slack = std::max(search_.slack, std::abs(edges_[i] - place) / width);
        even = search_.slack <= slack_max;
    }
    return even;
}

/// Into below_; nothing where cells of this kind cannot be numbered.
void BinEdges::make_cells(BinSearch::Cells kind) {
    below_.clear();
    search_.cells = BinSearch::Cells::None;
    const double first = edges_.front(), last = edges_.back();
    const std::int32_t wanted = std::clamp(
        std::min(search_.count, cells_max / cells_a_bin) * cells_a_bin, cells_min, cells_max);
    if (kind == BinSearch::Cells::Even) {
        search_.scale = wanted / (last - first);
        if (!std::isfinite(last - first) || !std::isfinite(search_.scale)) {
            return;
        }
    } else {
        if (first < 0 || !std::isfinite(last)) {
            return;
        }
        const std::uint64_t range =
            std::bit_cast<std::uint64_t>(last) - std::bit_cast<std::uint64_t>(first + 0.0);
        search_.shift =
            std::max(0, static_cast<int>(std::bit_width(range)) -
                            static_cast<int>(std::bit_width(static_cast<unsigned>(wanted))) + 1);
    }
    search_.cells = kind;
    below_.assign(static_cast<std::size_t>(search_.cell_of(last)) + 2, 0);
    for (const double edge : edges_) {
        ++below_[static_cast<std::size_t>(search_.cell_of(edge)) + 1];
    }
    for (std::size_t cell = 1; cell < below_.size(); ++cell) {
        below_[cell] += below_[cell - 1];
    }
}

Array BinEdges::array() const {
    Array out(DType::Float64, {static_cast<Index>(edges_.size())});
    std::copy(edges_.begin(), edges_.end(), out.as<double>());
    return out;
}

}  // namespace fluvial::compute
