// SPDX-License-Identifier: Apache-2.0
/// The inner loops. kernels.inc is compiled once an instruction set; the best copy for this CPU is
/// chosen at the first call. All copies add in the same order, so a result does not depend on the
/// machine that computed it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fluvial/compute/summary.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::compute {

/// Σw, Σw·d and Σw·d·d of d = x - centre.
struct CentredSums {
    double weight = 0, first = 0, second = 0;
};

/// Bins of equal width, or any ascending edges; see histogram_bins.
struct BinSearch {
    const double* edges = nullptr;  ///< count + 1 of them
    std::int32_t count = 0;
    bool uniform = false;
    double scale = 0;  ///< bins per unit when uniform
};

/// All arrays are contiguous. "across" kernels update one cell an element; `included` may be null
/// (all).
struct Kernels {
    std::string_view isa;
    /// By dtype (float16 excepted; complex: sum only). `parts`: SummaryPart bits.
    void (*summary[dtype_count])(const void* x, Index n, unsigned parts, Summary& out);
    /// Sum, minimum and maximum (as `parts` asks) of every column of a tile; `stride` in elements
    /// from row to row. Returns whether a NaN was among the elements (told only when bounds were
    /// asked for; they ignore it).
    bool (*columns_float)(const float* x, Index stride, Index rows, Index columns, unsigned parts,
                          double* sum, float* low, float* high);
    bool (*columns_double)(const double* x, Index stride, Index rows, Index columns, unsigned parts,
                           double* sum, double* low, double* high);
    bool (*has_nan_float)(const float* x, Index n);
    bool (*has_nan_double)(const double* x, Index n);
    CentredSums (*centred_float)(const float* x, Index n, double centre);
    CentredSums (*centred_double)(const double* x, Index n, double centre);
    CentredSums (*centred_weighted)(const double* x, const double* w, Index n, double centre);
    /// high + low is the sum so far (two-sum, Knuth); adds x.
    void (*add_across_float)(const float* x, const std::uint8_t* included, Index n, double* high,
                             double* low);
    void (*add_across_double)(const double* x, const std::uint8_t* included, Index n, double* high,
                              double* low);
    /// By integer dtype: total[i] += x[i], modulo 2^64.
    void (*add_across_integer[8])(const void* x, const std::uint8_t* included, Index n,
                                  std::uint64_t* total);
    /// By real dtype: best[i] = smaller (larger) of the two; NaN wins and stays.
    void (*min_across[dtype_count])(const void* x, const std::uint8_t* included, Index n,
                                    void* best);
    void (*max_across[dtype_count])(const void* x, const std::uint8_t* included, Index n,
                                    void* best);
    /// Welford's update with weight w (null: 1).
    void (*moments_across)(const double* x, const double* w, const std::uint8_t* included, Index n,
                           double* weight, double* mean, double* second);
    /// bin[i] of x[i] in NumPy's convention (half-open, the last closed): 0…count-1, -1 below,
    /// count above, count + 1 NaN.
    void (*histogram_bins)(const double* x, Index n, const BinSearch& search, std::int32_t* bin);
    void (*widen_half)(const std::uint16_t* x, Index n, float* out);
    void (*widen_float)(const float* x, Index n, double* out);
};

/// The copy for this CPU. The environment variable FLUVIAL_ISA (portable, avx2, avx512) forces a
/// lesser one.
const Kernels& kernels();
/// Every copy that this CPU can run, the portable one first.
std::vector<const Kernels*> runnable_kernels();

}  // namespace fluvial::compute
