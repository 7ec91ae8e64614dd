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
    void add_block(AtomBlock& atoms, std::size_t kind);
    /// What was added since the last call goes from the kernels' sums to the amplitudes.
    void unfold_sums();
    std::size_t kind_of(std::int64_t species) const;
    double* amplitudes_of(std::size_t kind) {
        return amplitudes_.data() + 2 * kind * setup_->q.size();
    }
    void finish_species(Result& result) const;
    std::vector<double> total() const;

    std::shared_ptr<const StructureFactor::Setup> setup_;
    Domain domain_;
    std::vector<double> amplitudes_;     ///< of each kind: real and imaginary parts in turn
    std::vector<std::int64_t> n_atoms_;  ///< of each kind
    double sum_w_ = 0;
    double sum_w2_ = 0;
    // Scratch, made by the first absorb: the kernels' sums of one piece.
    std::optional<LatticeWork> work_;
    std::vector<AlignedBuffer<double>> sums_;
    std::vector<AtomBlock> blocks_;
    std::vector<std::uint8_t> added_;  ///< whether the sums of a kind are not unfolded yet
};

}  // namespace fluvial::compute
