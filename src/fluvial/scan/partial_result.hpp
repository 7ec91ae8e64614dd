// SPDX-License-Identifier: Apache-2.0
/// What is known so far of the partial result to a request: a reduction for each group and set of
/// operators, made when the first piece for it arrives.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/scan/rank_request.hpp"

namespace fluvial::scan {

/// One thread at a time. The sets must outlive it.
class PartialResult {
  public:
    /// `covered` in global coordinates; with a stride, results are in the index space of the only
    /// request, until finish() translates coordinates.
    PartialResult(const std::vector<OperatorSet>& sets, const Selection& covered,
                  std::vector<int> over, std::vector<int> backwards, int groups);

    /// `views` (of all inputs) and `masks` (one a set; null: none) hold the elements of `inside`,
    /// in the request's own index space.
    void absorb(const RankRequest& rank_request, const Region& inside,
                std::span<const ArrayView> views, std::span<const ArrayView* const> masks);
    /// Makes all reductions, so that what an operator refuses is thrown now.
    void check();
    void merge(const PartialResult& other);
    Bytes encode() const;
    void merge_encoded(std::span<const std::byte> bytes);
    /// By group, then entry name.
    std::vector<std::map<std::string, compute::Result>> finish();

  private:
    compute::Reduction& reduction(std::size_t group, std::size_t set);
    void absorb_group(const RankRequest& rank_request, const Region& inside, std::size_t group,
                      std::span<const ArrayView> views, std::span<const ArrayView* const> masks);
    ArrayView weights_of(const RankRequest& rank_request, const Region& inside);

    const std::vector<OperatorSet>* sets_;
    Selection covered_;
    std::vector<int> over_, backwards_;
    std::vector<std::optional<compute::Reduction>> reductions_;  ///< groups · sets
    std::vector<double> weights_;
    std::vector<ArrayView> inputs_;  ///< of the piece at hand; kept for its memory
};

}  // namespace fluvial::scan
