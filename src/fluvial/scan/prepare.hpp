// SPDX-License-Identifier: Apache-2.0
/// From stored elements to what operators see: missing values masked, packed ones unpacked,
/// predicates asked. Data that needs none of it passes through untouched, unless it lies in
/// stretches so short that a walk along them would spend most of the time between them.
#pragma once

#include <utility>
#include <vector>

#include "fluvial/compute/decode.hpp"
#include "fluvial/scan/rank_request.hpp"

namespace fluvial::scan {

/// Owned by one lane; one thread. What it gives out is valid until the next run().
class Prepare {
  public:
    Prepare(const Request& request, const std::vector<OperatorSet>& sets);

    /// `stored`: a view an input, of equal extents; `where`: what predicates are told.
    void run(std::span<const ArrayView> stored, const Region& where);
    std::span<const ArrayView> values() const { return values_; }  ///< one an input
    /// One a set of operators; null: all elements count.
    std::span<const ArrayView* const> masks() const { return mask_pointers_; }

    /// Every stride-th element of `local`, a part of what run() was given.
    void select(const Region& local, const Coordinates& stride);
    std::span<const ArrayView> selected_values() const { return selected_values_; }
    std::span<const ArrayView* const> selected_masks() const { return selected_pointers_; }

  private:
    /// What has to be done to one input.
    struct Stage {
        Stage(Decoding how, DType dtype)
            : decoding(std::move(how)), stored(dtype), missing(dtype) {}

        Decoding decoding;
        DType stored;
        compute::MissingValues missing;
        std::vector<std::byte> closed_up, values;
        std::vector<std::uint8_t> included;
        std::vector<std::byte> nan;  ///< what is missing becomes; empty: it is masked
        bool masked = false;         ///< `included` says something of the box at hand
    };

    static ArrayView close_up(const ArrayView& view, std::vector<std::byte>& buffer);
    /// Calls visit(run, number of its first element) for runs that are contiguous in memory.
    template <class Visit>
    void for_runs(const ArrayView& view, Visit visit);
    bool holds_missing(const Stage& stage, const ArrayView& view);
    ArrayView decode(Stage& stage, const ArrayView& view, bool changes);
    void ask_predicates(const Region& where);
    void make_nan(Stage& stage);
    void combine_masks(const Coordinates& extent);

    const Request& request_;
    const std::vector<OperatorSet>& sets_;
    std::vector<Stage> stages_;
    std::vector<ArrayView> values_, selected_values_;
    std::vector<std::uint8_t> agreed_;  ///< of the predicates
    std::vector<std::vector<std::uint8_t>> set_masks_;
    std::vector<ArrayView> masks_, selected_masks_;
    std::vector<const ArrayView*> mask_pointers_, selected_pointers_;
    std::vector<std::byte> row_;  ///< of a value that stands for all
};

}  // namespace fluvial::scan
