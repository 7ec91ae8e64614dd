// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/decode.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/run.hpp"

namespace fluvial::compute {
namespace {

constexpr Index block_max = 16384;  ///< elements whose second reading finds them in the cache
constexpr Index halves_max = 2048;  ///< float16 goes through float32, so many at a time
constexpr Index complex_max = 256;  ///< complex numbers that are looked at together

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
T one(const std::vector<std::byte>& bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

/// `f.template operator()<T>()` with the type in which values of this real dtype are compared.
template <class F>
void dispatch_real(DType dtype, F&& f) {
    dispatch(kernel_dtype(dtype), [&]<class T>() {
        if constexpr (std::is_arithmetic_v<T>) {
            f.template operator()<T>();
        }
    });
}

void check_run(const ArrayView& run, DType dtype) {
    if (run.dtype != dtype || !run.is_contiguous()) {
        throw InvalidArgument(Problem{"cannot decode this run",
                                      text(name_of(run.dtype), " with strides ", run.strides),
                                      text("contiguous ", name_of(dtype)), "Gather it first"});
    }
}

}  // namespace

MissingValues::MissingValues(DType stored) : dtype_(stored) {
    dispatch_real(stored, [&]<class T>() {
        using Limits = std::numeric_limits<T>;
        const bool floating = Limits::has_infinity;
        append<T>(least_, floating ? static_cast<T>(-Limits::infinity()) : Limits::lowest());
        append<T>(most_, floating ? Limits::infinity() : Limits::max());
    });
}

std::vector<std::byte> MissingValues::native(std::span<const std::byte> value) const {
    if (value.size() != size_of(dtype_)) {
        throw InvalidArgument(Problem{text("not a value of ", name_of(dtype_)),
                                      text(value.size(), " bytes"), text(size_of(dtype_)),
                                      "Convert it to the dtype of the data first"});
    }
    if (dtype_ != DType::Float16) {
        return {value.begin(), value.end()};
    }
    Half half;
    std::memcpy(&half, value.data(), sizeof half);
    std::vector<std::byte> wide;
    append(wide, static_cast<float>(half));
    return wide;
}

void MissingValues::add(std::span<const std::byte> value) {
    const auto bytes = native(value);
    dispatch(is_complex(dtype_) ? dtype_ : kernel_dtype(dtype_), [&]<class T>() {
        const T number = one<T>(bytes);
        if (number != number) {
            nan_ = true;
        } else {
            append(values_, number);
        }
    });
}

void MissingValues::set_valid_min(std::span<const std::byte> bound) {
    set_bound(bound, least_);
}

void MissingValues::set_valid_max(std::span<const std::byte> bound) {
    set_bound(bound, most_);
}

void MissingValues::set_bound(std::span<const std::byte> value, std::vector<std::byte>& bound) {
    if (is_complex(dtype_)) {
        throw InvalidArgument(Problem{"complex numbers have no order", std::string(name_of(dtype_)),
                                      "bounds of real dtypes", "Leave the bound out"});
    }
    const auto bytes = native(value);
    dispatch_real(dtype_, [&]<class T>() {
        if (one<T>(bytes) == one<T>(bytes)) {
            bound = bytes;
            bounded_ = true;
        }
    });
}

/// Calls kernels on runs of real dtypes, float16 by way of float32; complex ones it compares
/// itself.
class MissingReader {
  public:
    MissingReader(const ArrayView& run, const MissingValues& missing)
        : run_(run), count_(run.size()) {
        const DType compared = is_complex(run.dtype) ? run.dtype : kernel_dtype(run.dtype);
        const Index item = static_cast<Index>(size_of(compared));
        test_ = {missing.values_.data(), static_cast<Index>(missing.values_.size()) / item,
                 missing.nan_, missing.least_.data(), missing.most_.data()};
    }

    /// Missing values are mostly far from all others, so that bounds, which are cheap, tell most
    /// often that there is none.
    bool any() const {
        bool found = false;
        if (is_complex(run_.dtype)) {
            for_complex([&](Index, bool missing) { found |= missing; });
            return found;
        }
        for_kernels([&](bool swapped, const void* x, Index, Index n) {
            const auto* bytes = static_cast<const std::byte*>(x);
            const Index item = static_cast<Index>(size_of(kernel_dtype(run_.dtype)));
            for (Index begin = 0; begin < n && !found; begin += block_max) {
                const void* const here = bytes + begin * item;
                const Index count = std::min(block_max, n - begin);
                Summary summary;
                kernels().summary[swapped][number()](&here, 1, count, summary_bounds, summary);
                found = may_miss(summary) &&
                        kernels().any_missing[swapped][number()](here, count, test_);
            }
        });
        return found;
    }

    void mark(std::uint8_t* included) const {
        if (is_complex(run_.dtype)) {
            for_complex([&](Index i, bool missing) { included[i] = !missing; });
            return;
        }
        for_kernels([&](bool swapped, const void* x, Index begin, Index n) {
            kernels().mark_present[swapped][number()](x, n, test_, included + begin);
        });
    }

    template <class T>
    void unpack(double scale, double offset, T* out) const {
        for_kernels([&](bool swapped, const void* x, Index begin, Index n) {
            if constexpr (std::is_same_v<T, float>) {
                kernels().unpack_float[swapped][number()](x, n, scale, offset, out + begin);
            } else {
                kernels().unpack_double[swapped][number()](x, n, scale, offset, out + begin);
            }
        });
    }

  private:
    int number() const { return static_cast<int>(kernel_dtype(run_.dtype)); }

    bool may_miss(const Summary& summary) const {
        bool may = test_.nan && summary.nan;
        dispatch_real(run_.dtype, [&]<class T>() {
            const T low = summary.min.as<T>(), high = summary.max.as<T>();
            const T* const values = static_cast<const T*>(test_.values);
            may = may || low < *static_cast<const T*>(test_.least) ||
                  high > *static_cast<const T*>(test_.most);
            for (Index i = 0; i < test_.count; ++i) {
                may = may || (values[i] >= low && values[i] <= high);
            }
        });
        return may;
    }

    /// Calls f(number, whether it is missing) for each element of a complex run.
    template <class F>
    void for_complex(F&& f) const {
        const Gather load = gather_function(run_.dtype, run_.dtype, run_.swapped);
        dispatch(run_.dtype, [&]<class T>() {
            if constexpr (!std::is_arithmetic_v<T> && !std::is_same_v<T, Half>) {
                const std::span values(static_cast<const T*>(test_.values),
                                       static_cast<std::size_t>(test_.count));
                T block[complex_max];
                for (Index begin = 0; begin < count_; begin += complex_max) {
                    const Index n = std::min(complex_max, count_ - begin);
                    constexpr Index item = sizeof(T);
                    load(run_.data + begin * item, item, n, block);
                    for (Index i = 0; i < n; ++i) {
                        bool missing = test_.nan && block[i] != block[i];
                        for (const T& value : values) {
                            missing |= block[i] == value;
                        }
                        f(begin + i, missing);
                    }
                }
            }
        });
    }

    /// Calls f(swapped, values, begin, count).
    template <class F>
    void for_kernels(F&& f) const {
        if (run_.dtype != DType::Float16) {
            f(run_.swapped, static_cast<const void*>(run_.data), Index{0}, count_);
            return;
        }
        const Gather widen = gather_function(DType::Float16, DType::Float32, run_.swapped);
        constexpr Index item = sizeof(Half);
        float wide[halves_max];
        for (Index begin = 0; begin < count_; begin += halves_max) {
            const Index n = std::min(halves_max, count_ - begin);
            widen(run_.data + begin * item, item, n, wide);
            f(false, static_cast<const void*>(wide), begin, n);
        }
    }

    const ArrayView& run_;
    Index count_;
    MissingTest test_;
};

bool any_missing(const ArrayView& run, const MissingValues& missing) {
    check_run(run, missing.dtype());
    return !missing.empty() && MissingReader(run, missing).any();
}

void decode(const ArrayView& run, const MissingValues& missing, bool packed, double scale,
            double offset, const MutableArrayView& values, std::uint8_t* included) {
    check_run(run, missing.dtype());
    const Index count = run.size();
    const MissingReader reader(run, missing);
    if (included != nullptr && missing.empty()) {
        std::memset(included, 1, static_cast<std::size_t>(count));
    } else if (included != nullptr) {
        reader.mark(included);
    }
    if (values.data == nullptr || count == 0) {
        return;
    }
    const bool real = values.dtype == DType::Float32 || values.dtype == DType::Float64;
    const bool fits = packed ? real && !is_complex(run.dtype) : values.dtype == run.dtype;
    if (!fits || ArrayView(values).size() != count || !ArrayView(values).is_contiguous()) {
        throw InvalidArgument(
            Problem{"cannot decode into this array",
                    text(name_of(values.dtype), values.extent, " with strides ", values.strides),
                    text("contiguous, ", count, " elements of ",
                         packed ? "float32 or float64" : name_of(run.dtype)),
                    ""});
    }
    if (packed && values.dtype == DType::Float32) {
        reader.unpack(scale, offset, reinterpret_cast<float*>(values.data));
    } else if (packed) {
        reader.unpack(scale, offset, reinterpret_cast<double*>(values.data));
    } else {
        gather_function(run.dtype, run.dtype, run.swapped)(
            run.data, static_cast<Index>(size_of(run.dtype)), count, values.data);
    }
}

}  // namespace fluvial::compute
