// SPDX-License-Identifier: Apache-2.0
/// The state of a structure factor: complex amplitudes and the sums that normalise them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fluvial/compute/operators/structure_factor.hpp"

namespace fluvial::compute {

class StructureFactorPartial final : public Partial {
  public:
    StructureFactorPartial(std::shared_ptr<const StructureFactor::Setup> setup, Domain domain);
    void absorb(const Piece& piece) override;
    void merge(const Partial& other) override;
    Result finish() const override;
    std::vector<std::byte> encode() const override;
    void decode(std::span<const std::byte> bytes) override;

  private:
    void add_block(AtomBlock& atoms);

    std::shared_ptr<const StructureFactor::Setup> setup_;
    Domain domain_;
    std::vector<double> amplitudes_;  ///< real and imaginary parts in turn
    std::int64_t n_atoms_ = 0;
    double sum_w_ = 0;
    double sum_w2_ = 0;
    // Scratch, made by the first absorb: the kernels' sums of one piece.
    std::optional<LatticeWork> work_;
    AlignedBuffer<double> sums_;
};

}  // namespace fluvial::compute
