// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/partial_result.hpp"

#include <algorithm>

#include "fluvial/compute/selected_coordinates.hpp"

namespace fluvial::scan {
namespace {

/// The same elements, along `axis` only those of [begin, end).
Region part_along(Region region, int axis, Index begin, Index end) {
    region.offset[axis] += begin;
    region.extent[axis] = end - begin;
    return region;
}

}  // namespace

PartialResult::PartialResult(const std::vector<OperatorSet>& sets, const Selection& covered,
                             std::vector<int> over, std::vector<int> backwards, int groups)
    : sets_(&sets),
      covered_(covered),
      over_(std::move(over)),
      backwards_(std::move(backwards)),
      reductions_(static_cast<std::size_t>(groups) * sets.size()) {}

compute::Reduction& PartialResult::reduction(std::size_t group, std::size_t set) {
    auto& found = reductions_[group * sets_->size() + set];
    if (!found) {
        const OperatorSet& operators = (*sets_)[set];
        const Region region = covered_.is_dense() ? covered_.bounds() : whole(covered_.count);
        compute::Domain domain = compute::make_domain(region, over_, operators.dtypes);
        domain.backwards = backwards_;
        found.emplace(operators.entries, std::move(domain));
    }
    return *found;
}

void PartialResult::check() {
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
        reduction(i / sets_->size(), i % sets_->size());
    }
}

void PartialResult::absorb(const RankRequest& rank_request, const Region& inside,
                           std::span<const ArrayView> views,
                           std::span<const ArrayView* const> masks) {
    if (!rank_request.groups) {
        absorb_group(rank_request, inside, 0, views, masks);
        return;
    }
    const int axis = rank_request.groups->axis;
    const Index extent = inside.extent[axis];
    const auto group_of = [&](Index i) {
        return rank_request.groups->group[static_cast<std::size_t>(inside.offset[axis] + i)];
    };
    std::vector<ArrayView> parts(views.begin(), views.end());
    std::vector<ArrayView> mask_parts(masks.size());
    std::vector<const ArrayView*> mask_pointers(masks.size(), nullptr);
    for (Index begin = 0; begin < extent;) {
        const int group = group_of(begin);
        Index end = begin + 1;
        while (end < extent && group_of(end) == group) {
            ++end;
        }
        if (group >= 0) {
            const Region local = part_along(whole(inside.extent), axis, begin, end);
            for (std::size_t i = 0; i < parts.size(); ++i) {
                parts[i] = subview(views[i], local);
            }
            for (std::size_t i = 0; i < masks.size(); ++i) {
                if (masks[i] != nullptr) {
                    mask_parts[i] = subview(*masks[i], local);
                    mask_pointers[i] = &mask_parts[i];
                }
            }
            absorb_group(rank_request, part_along(inside, axis, begin, end),
                         static_cast<std::size_t>(group), parts, mask_pointers);
        }
        begin = end;
    }
}

void PartialResult::absorb_group(const RankRequest& rank_request, const Region& inside,
                                 std::size_t group, std::span<const ArrayView> views,
                                 std::span<const ArrayView* const> masks) {
    Region where = inside;
    if (covered_.is_dense()) {
        for (int axis = 0; axis < where.ndim(); ++axis) {
            where.offset[axis] += rank_request.selection.start[axis];
        }
    }
    ArrayView weights;
    if (!rank_request.weights.empty()) {
        weights = weights_of(rank_request, inside);
    }
    for (std::size_t set = 0; set < sets_->size(); ++set) {
        inputs_.clear();
        for (const int input : (*sets_)[set].inputs) {
            inputs_.push_back(views[static_cast<std::size_t>(input)]);
        }
        reduction(group, set)
            .absorb(
                {inputs_, where, rank_request.weights.empty() ? nullptr : &weights, masks[set]});
    }
}

ArrayView PartialResult::weights_of(const RankRequest& rank_request, const Region& inside) {
    constexpr Index element = sizeof(double);
    if (rank_request.weights.size() == 1) {
        const AxisWeights& along = rank_request.weights.front();
        Coordinates strides(inside.ndim(), 0);
        strides[along.axis] = element;
        return {along.factor.data() + inside.offset[along.axis], DType::Float64, inside.extent,
                strides};
    }
    weights_.assign(static_cast<std::size_t>(inside.volume()), 1.0);
    const Coordinates strides = contiguous_strides(inside.extent, 1);
    for (const AxisWeights& along : rank_request.weights) {
        const double* const factor = along.factor.data() + inside.offset[along.axis];
        const Index inner = strides[along.axis], extent = inside.extent[along.axis];
        for (double* weight = weights_.data(); weight < weights_.data() + weights_.size();) {
            for (Index k = 0; k < extent; ++k) {
                for (Index i = 0; i < inner; ++i) {
                    *weight++ *= factor[k];
                }
            }
        }
    }
    return {weights_.data(), DType::Float64, inside.extent};
}

void PartialResult::merge(const PartialResult& other) {
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
        if (other.reductions_[i]) {
            reduction(i / sets_->size(), i % sets_->size()).merge(*other.reductions_[i]);
        }
    }
}

Bytes PartialResult::encode() const {
    ByteWriter out;
    for (const auto& reduction : reductions_) {
        const Bytes state = reduction ? reduction->encode() : Bytes();
        out.put_block(state.data(), state.size());
    }
    return out.take();
}

void PartialResult::merge_encoded(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
        if (const auto state = in.get_block(); !state.empty()) {
            reduction(i / sets_->size(), i % sets_->size()).merge_encoded(state);
        }
    }
}

std::vector<std::map<std::string, compute::Result>> PartialResult::finish() {
    const std::size_t sets = sets_->size();
    std::vector<std::map<std::string, compute::Result>> results(reductions_.size() / sets);
    for (std::size_t i = 0; i < reductions_.size(); ++i) {
        for (auto& [name, result] : reduction(i / sets, i % sets).finish()) {
            const auto coordinates = result.find("coordinates");
            if (coordinates != result.end() && !covered_.is_dense()) {
                compute::make_global(coordinates->second, covered_);
            }
            results[i / sets].emplace(name, std::move(result));
        }
    }
    return results;
}

}  // namespace fluvial::scan
