// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/cost_book.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fluvial::flow {

namespace {

/// A mean is over as many values as this, or a little more: conditions change.
constexpr double memory = 16;
constexpr double lately = 64;
constexpr double new_edition = 0.1;

std::uint64_t key(std::uint32_t kind, int width) {
    return std::uint64_t{kind} << 32U | static_cast<std::uint32_t>(width);
}

}  // namespace

double CostBook::estimate_s(std::uint32_t kind, int width, double cost_s) const {
    if (!std::isnan(cost_s)) {
        const auto found = kinds_.find(kind);
        const bool known = found != kinds_.end() && found->second.factor.finished > 0;
        return known ? cost_s * found->second.factor.mean : cost_s;
    }
    const auto found = seconds_.find(key(kind, width));
    return found != seconds_.end() ? found->second.mean : unknown_s;
}

void CostBook::add(Entry& entry, double value) {
    ++entry.finished;
    const double weight = 1 / std::min(static_cast<double>(entry.finished), memory);
    entry.mean += (value - entry.mean) * weight;
    if (entry.finished == 1 ||
        std::abs(entry.mean - entry.printed) > new_edition * std::abs(entry.printed)) {
        entry.printed = entry.mean;
        ++edition_;
    }
}

void CostBook::learn(std::uint32_t kind, int width, double cost_s, double took_s) {
    ++finished_;
    typical_s_ += (took_s - typical_s_) / std::min(static_cast<double>(finished_), 8 * memory);
    add(seconds_[key(kind, width)], took_s);
    Kind& all = kinds_[kind];
    ++all.finished;
    all.lately_s = all.lately_s < 0 ? took_s : all.lately_s + (took_s - all.lately_s) / lately;
    if (!std::isnan(cost_s) && cost_s > 0) {
        add(all.factor, took_s / cost_s);
    }
}

std::uint64_t CostBook::finished(std::uint32_t kind) const {
    const auto found = kinds_.find(kind);
    return found == kinds_.end() ? 0 : found->second.finished;
}

double CostBook::lately_s(std::uint32_t kind) const {
    const auto found = kinds_.find(kind);
    const bool known = found != kinds_.end() && found->second.lately_s >= 0;
    return known ? found->second.lately_s : std::numeric_limits<double>::infinity();
}

}  // namespace fluvial::flow
