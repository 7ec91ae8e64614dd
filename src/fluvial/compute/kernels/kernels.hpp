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
    bool uniform = false;  ///< evenly spaced, or nearly
    double scale = 0;      ///< bins per unit when uniform; cells per unit of Even cells
    double slack = 0;      ///< bins that an edge is away from even spacing, when uniform
    /// What is between the first and the last edge may be divided into cells, numbered so that no
    /// larger number has a smaller cell, whatever is rounded: only the edges in its own cell need
    /// be compared with a number. Even: of equal width. Octaves: by the first bits of the number,
    /// which must not be negative.
    enum class Cells : std::uint8_t { None, Even, Octaves };
    Cells cells = Cells::None;
    int shift = 0;                        ///< of Octaves: bits of a number that do not count
    const std::int32_t* below = nullptr;  ///< edges in the cells below each one; behind, of all

    /// For x from the first edge to the last. Never compiled apart, and so in no kernel's copy.
    __attribute__((always_inline)) std::int32_t cell_of(double x) const {
        if (cells == Cells::Even) {
            return static_cast<std::int32_t>((x - edges[0]) * scale);
        }
        // No -0.0: it is no smaller than 0.0.
        return static_cast<std::int32_t>((__builtin_bit_cast(std::uint64_t, x + 0.0) -
                                          __builtin_bit_cast(std::uint64_t, edges[0] + 0.0)) >>
                                         shift);
    }
};

/// Where elements are counted by their bins: element i adds one to entry bin + 1 of table i %
/// count, so that neighbours in one bin do not wait for each other.
struct BinTables {
    std::uint32_t* counts = nullptr;  ///< `count` tables of `width` entries, one after the other
    std::int32_t count = 0;           ///< a power of two up to 16
    std::int32_t width = 0;           ///< the search's bins + 3 at least
};

/// Which stored values mean "no value". All pointers are to values of the kernel's own type in
/// native order.
struct MissingTest {
    const void* values = nullptr;  ///< `count` of them, none a NaN
    Index count = 0;
    bool nan = false;             ///< every NaN means it too
    const void* least = nullptr;  ///< one value: what is smaller is missing
    const void* most = nullptr;   ///< one value: what is larger is missing
};

/// All arrays are contiguous. "across" kernels update one cell an element; `included` may be null
/// (all). Kernels with an index [2] have a second copy whose x has its bytes in the other order
/// (each part of a complex number apart) and may lie at any address; results are the same to the
/// bit.
struct Kernels {
    std::string_view isa;
    /// By dtype (float16 excepted; complex: sum only): of all rows of n elements. `parts`:
    /// SummaryPart bits.
    void (*summary[2][dtype_count])(const void* const* rows, Index row_count, Index n,
                                    unsigned parts, Summary& out);
    /// By real dtype (float16 excepted): all parts, of the elements that are included, of native x;
    /// `drop_nan`: without NaN. Returns how many they are; of none, bounds are meaningless.
    Index (*summary_present[dtype_count])(const void* x, const std::uint8_t* included,
                                          bool drop_nan, Index n, Summary& out);
    /// Sum, minimum and maximum (as `parts` asks) of every column of a tile; `stride` in elements
    /// from row to row. Returns whether a NaN may be among the elements (told only when bounds were
    /// asked for; they ignore it): also where infinities add up to one.
    bool (*columns_float[2])(const float* x, Index stride, Index rows, Index columns,
                             unsigned parts, double* sum, float* low, float* high);
    bool (*columns_double[2])(const double* x, Index stride, Index rows, Index columns,
                              unsigned parts, double* sum, double* low, double* high);
    bool (*has_nan_float[2])(const float* x, Index n);
    bool (*has_nan_double[2])(const double* x, Index n);
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
    void (*histogram_bins_float)(const float* x, Index n, const BinSearch& search,
                                 std::int32_t* bin);
    void (*histogram_bins_double)(const double* x, Index n, const BinSearch& search,
                                  std::int32_t* bin);
    /// Counts x by the same bins. No counter overflows in fewer than 2^32 elements.
    void (*count_bins_float[2])(const float* x, Index n, const BinSearch& search,
                                const BinTables& tables);
    void (*count_bins_double[2])(const double* x, Index n, const BinSearch& search,
                                 const BinTables& tables);
    void (*widen_half)(const std::uint16_t* x, Index n, float* out);
    /// By real dtype (float16 excepted): to float64. x may lie at any address.
    void (*widen[2][dtype_count])(const void* x, Index n, double* out);
    /// By log2 of the element's bytes (1 to 3): reverses the bytes of each. At any address.
    void (*swap_bytes[4])(const void* x, Index n, void* out);
    /// By real dtype (float16 excepted), x at any address: whether any element is missing; whether
    /// each is there (1) or missing (0); x * scale + offset in float64, rounded once.
    bool (*any_missing[2][dtype_count])(const void* x, Index n, const MissingTest& test);
    void (*mark_present[2][dtype_count])(const void* x, Index n, const MissingTest& test,
                                         std::uint8_t* included);
    void (*unpack_float[2][dtype_count])(const void* x, Index n, double scale, double offset,
                                         float* out);
    void (*unpack_double[2][dtype_count])(const void* x, Index n, double scale, double offset,
                                          double* out);
};

/// The copy for this CPU. The environment variable FLUVIAL_ISA (portable, avx2, avx512) forces a
/// lesser one.
const Kernels& kernels();
/// Every copy that this CPU can run, the portable one first.
std::vector<const Kernels*> runnable_kernels();

}  // namespace fluvial::compute
