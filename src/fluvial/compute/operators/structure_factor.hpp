// SPDX-License-Identifier: Apache-2.0
/// Static structure factor of point atoms, S(q) = |Σ_j w_j exp(i q·r_j)|² / N: the scattering
/// pattern (SAXS, WAXS, a diffraction image) of the atoms in the kinematic approximation. Source:
/// GAPD, doi:10.1107/S1600577517016733.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/compute/operator.hpp"
#include "fluvial/compute/operators/camera.hpp"
#include "fluvial/compute/operators/form_factor.hpp"
#include "fluvial/compute/operators/structure_factor_lattice.hpp"

namespace fluvial::compute {

/// Precision of the products that are summed over atoms; the sums over blocks of 128 atoms are
/// always float64. Float64 agrees with direct evaluation to 1e-9 of Σ|w|; Float32 to 1e-6 of Σ|w|,
/// at about twice the speed.
enum class Precision { Float32, Float64 };

struct StructureFactorOptions {
    Precision precision = Precision::Float64;
    double bytes_max =
        4.0 * 1024 * 1024 * 1024;  ///< refuse sets of q vectors that need more memory
    std::string kernel;  ///< "avx512", "avx2", "portable"; empty: as all operators (kernels())
    /// Of each species; empty: all atoms are points that scatter alike.
    std::vector<SpeciesFormFactor> form_factors;
};

/// Three inputs: the position components x, y, z as 1-D arrays of float32 or float64, in any unit
/// of length; q is in its inverse. Reduces over all axes. Optional Piece::weights are the form
/// factors w_j (real; 1 without).
///
/// With `form_factors` a fourth input says the species of each atom, integers that all have one,
/// and the amplitude of an atom is w_j f(|q|). S is then the scattered intensity an atom, in the
/// square of f's unit. Amplitudes of each species are summed apart, so the cost is the same, and
/// results have "species" (K,) int64, "counts" (K,) int64 and "species_amplitude" (K, Q)
/// complex128, which is without f. A partial has 16 K Q + 8 K bytes then.
///
/// Result: "value" S (Q,) float64; "amplitude" (Q,) complex128; "q" (Q, 3) float64; "hkl" (Q, 3)
/// int32, unless the q vectors were listed; "n_atoms" () int64; "sum_w", "sum_w2" () float64 (Σw,
/// Σw²). S is NaN without atoms; a position or weight that is not finite makes S NaN. The order of
/// q vectors is fixed by the arguments alone. Any split and merge order gives the same result
/// within 1e-12 Σ|w| (float32: 1e-6 Σ|w|).
///
/// Cost: about N Q / 1e10 s a core on a lattice in float64 with AVX2 or AVX-512 (2 multiply-adds an
/// atom and q), half of it in float32, N Q / 1e9 s for listed vectors; a partial travels as
/// 16 Q + 32 bytes.
class StructureFactor final : public Operator {
  public:
    /// One half (q and -q have the same S) of all reciprocal lattice vectors q = 2π (h/Lx, k/Ly,
    /// l/Lz) with 0 < |q| <= q_max, h, k and l being multiples of stride's entries.
    static StructureFactor sphere(const Vector3& box, double q_max,
                                  const std::array<int, 3>& stride = {1, 1, 1},
                                  const StructureFactorOptions& options = {});
    /// One half of a rectangle in the plane of two axes of the same lattice: |q_u| <= q_max[0],
    /// |q_v| <= q_max[1], q = 0 included.
    static StructureFactor detector(const Vector3& box, const std::array<double, 2>& q_max,
                                    const std::array<int, 2>& axes = {0, 1},
                                    const std::array<int, 3>& stride = {1, 1, 1},
                                    const StructureFactorOptions& options = {});
    /// One half of q = i a + j b with |i| <= count[0], |j| <= count[1], q = 0 included; a and b are
    /// any vectors.
    static StructureFactor plane(const Vector3& a, const Vector3& b,
                                 const std::array<int, 2>& count,
                                 const StructureFactorOptions& options = {});
    /// The listed vectors, evaluated one by one (always in float64).
    static StructureFactor at(std::vector<Vector3> q, const StructureFactorOptions& options = {});
    /// The pixels of a flat detector in real space, row by row, evaluated one by one.
    static StructureFactor camera(const Camera& camera, const StructureFactorOptions& options = {});

    std::string name() const override { return "structure_factor"; }
    int inputs() const override { return setup_->form_factors.empty() ? 3 : 4; }
    std::string describe() const override { return setup_->description; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override;

    std::size_t size() const { return setup_->q.size(); }
    const std::vector<Vector3>& q() const { return setup_->q; }
    const std::vector<std::array<std::int32_t, 3>>& hkl() const { return setup_->hkl; }
    const StructureFactorKernel& kernel() const { return setup_->kernel; }

    /// What all partials of one operator share.
    struct Setup {
        StructureFactorKernel kernel;
        Precision precision;
        std::optional<Lattice> lattice;  ///< none for listed vectors
        LatticeTiles tiles;
        int lanes;
        std::vector<Vector3> q;
        std::vector<std::array<std::int32_t, 3>> hkl;
        std::vector<SpeciesFormFactor> form_factors;
        std::string description;  ///< of q vectors, precision and form factors

        /// Amplitudes that are summed apart.
        std::size_t kinds() const { return form_factors.empty() ? 1 : form_factors.size(); }
    };

  private:
    explicit StructureFactor(std::shared_ptr<const Setup> setup) : setup_(std::move(setup)) {}
    std::shared_ptr<const Setup> setup_;
};

}  // namespace fluvial::compute
