// SPDX-License-Identifier: Apache-2.0
/// Which q vectors a structure factor covers when they are integer combinations of two or three
/// basis vectors, and how the sums that the kernels make become complex amplitudes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fluvial/compute/operators/structure_factor_kernel.hpp"

namespace fluvial::compute {

using Vector3 = std::array<double, 3>;

/// One half of the vectors q = h basis[0] + k basis[1] + l basis[2] (q and -q have conjugate
/// amplitudes for real weights, so one of the two is enough), with any signs of h, k and l that the
/// index set allows.
class Lattice {
  public:
    /// All with |q| <= q_max, without q = 0; the basis is orthogonal.
    static Lattice sphere(const std::array<Vector3, 3>& basis, double q_max);
    /// -count[0] … count[0] times basis[0] and -count[1] … count[1] times basis[1], with q = 0.
    static Lattice plane(const std::array<Vector3, 2>& basis, std::array<int, 2> count);

    std::size_t size() const { return size_; }
    /// (h, k, l) of every vector, in the order of the amplitudes; for a plane (h, k, 0).
    std::vector<std::array<std::int32_t, 3>> indices() const;
    /// The sums' layout for vectors of `lanes` and groups of `rows_a_group`.
    LatticeTiles tiles(int lanes, int rows_a_group) const;
    /// Adds to amplitudes[2i], [2i + 1] (real, imaginary) what the kernel summed up.
    void unfold(const LatticeTiles& tiles, int lanes, const double* sums, double* amplitudes) const;
    /// An upper estimate of the number of vectors that sphere() would make.
    static double sphere_size(const std::array<Vector3, 3>& basis, double q_max);

  private:
    /// All l from -longest to longest that go with |h| and |k|, in all four sign combinations.
    struct Line {
        int h, k, longest;
        std::array<int, 4> row;  ///< of cc, cs, sc, ss among the sorted rows; -1 where it vanishes
    };
    void add_line(int h, int k, int longest);
    void sort_rows();
    template <class F>
    void for_each_run(F&& visit) const;

    std::array<Vector3, 3> basis_{};
    std::array<int, 3> axis_{0, 1, 2};  ///< of the caller's indices, for this lattice's h, k, l
    std::array<int, 3> count_{};
    bool origin_ = false;
    std::size_t size_ = 0;
    std::vector<Line> lines_;
    std::vector<LatticeRow> rows_;
    std::vector<int> row_lengths_;  ///< highest l that a row goes with, descending
};

}  // namespace fluvial::compute
