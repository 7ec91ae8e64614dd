// SPDX-License-Identifier: Apache-2.0
/// The inner loops of the structure factor, compiled for several instruction sets and chosen at run
/// time.
///
/// On a lattice q = h b1 + k b2 + l b3 the phase factor of an atom is X^h Y^k Z^l. With cosines and
/// sines apart, every product of one of {cos hx cos ky, cos hx sin ky, sin hx cos ky, sin hx sin
/// ky} ("row") with one of {cos lz, sin lz} ("column"), summed over the atoms, serves all sign
/// combinations of (h, k, l) at once. The sums are one real matrix product, rows x atoms times
/// atoms x columns: 2 multiply-adds an atom and q vector instead of the 4 of a complex product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fluvial/describe/coordinates.hpp"

namespace fluvial::compute {

/// Zero-filled memory for aligned vector access.
template <class T>
class AlignedBuffer {
  public:
    static constexpr std::size_t alignment = 64;
    AlignedBuffer() = default;
    explicit AlignedBuffer(std::size_t size)
        : raw_(size + alignment / sizeof(T)), size_(size), data_(aligned(raw_.data())) {}
    AlignedBuffer(AlignedBuffer&&) noexcept = default;
    AlignedBuffer& operator=(AlignedBuffer&&) noexcept = default;
    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    static T* aligned(T* p) {
        const auto address = reinterpret_cast<std::uintptr_t>(p);
        return reinterpret_cast<T*>((address + alignment - 1) / alignment * alignment);
    }
    std::vector<T> raw_;
    std::size_t size_ = 0;
    T* data_ = nullptr;
};

/// Atoms that are absorbed together. The kernels read up to the next multiple of 16: keep weights
/// there 0 and positions finite.
struct AtomBlock {
    static constexpr int capacity = 128;
    alignas(64) double r[3][capacity] = {};
    alignas(64) double weight[capacity] = {};
    int count = 0;
};

/// cos or sin of index[0] * θ1, times cos or sin of index[1] * θ2.
struct LatticeRow {
    int index[2];
    bool sine[2];
};

/// Rows of similar length that one register tile works on together.
struct RowGroup {
    int first;           ///< row of the tiles
    int columns;         ///< vectors of sums a row
    std::size_t offset;  ///< of its first sum; rows follow each other at columns * lanes
};

/// How the sums of one lattice lie in memory for one instruction set: sum 2l of a row belongs to
/// cos lθ3, sum 2l + 1 to sin lθ3.
struct LatticeTiles {
    double turns[3][3];            ///< θ_a = 2π turns[a] · r
    int count[3];                  ///< highest index along each axis
    std::vector<LatticeRow> rows;  ///< padded to whole groups
    std::vector<RowGroup> groups;
    std::size_t sums = 0;  ///< doubles in all
};

/// Scratch memory of one thread.
class LatticeWork {
  public:
    LatticeWork(const LatticeTiles& tiles, int rows_a_group);
    AlignedBuffer<double> powers;         ///< [index][cos, sin][atom] of the axis at hand
    AlignedBuffer<std::byte> factors[2];  ///< the same in the working precision, axes 1 and 2
    AlignedBuffer<std::byte> columns;     ///< [vector][atom][lane]
    AlignedBuffer<std::byte> rows;        ///< [row of the group][atom]
};

/// What one instruction set offers.
struct StructureFactorKernel {
    const char* name;
    int rows_a_group;
    int lanes32;  ///< floats in a vector
    int lanes64;  ///< doubles in a vector
    /// Adds the block's sums to `sums` (laid out as `tiles` says for this kernel and precision).
    void (*lattice32)(const LatticeTiles& tiles, const AtomBlock& atoms, LatticeWork& work,
                      double* sums);
    void (*lattice64)(const LatticeTiles& tiles, const AtomBlock& atoms, LatticeWork& work,
                      double* sums);
    /// Adds Σ_j w_j cos q·r_j and Σ_j w_j sin q·r_j to amplitudes[2i] and [2i + 1] for each of the
    /// q vectors.
    void (*direct)(const AtomBlock& atoms, std::span<const double> q, double* amplitudes);
};

/// The kernels that this CPU can run, fastest first; named like those of runnable_kernels().
std::vector<StructureFactorKernel> structure_factor_kernels();

}  // namespace fluvial::compute
