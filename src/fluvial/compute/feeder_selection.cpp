// SPDX-License-Identifier: Apache-2.0
/// What mask and skipna leave out of a run.
#include <algorithm>
#include <complex>
#include <cstring>

#include "fluvial/compute/feeder.hpp"
#include "fluvial/compute/kernels/kernels.hpp"

namespace fluvial::compute {
namespace {

/// Clears included[i] where element i is NaN.
template <class T>
void exclude_nan(const T* x, Index count, std::uint8_t* included) {
    for (Index i = 0; i < count; ++i) {
        bool nan;
        if constexpr (std::is_floating_point_v<T>) {
            nan = x[i] != x[i];
        } else {
            nan = x[i].real() != x[i].real() || x[i].imag() != x[i].imag();
        }
        included[i] &= static_cast<std::uint8_t>(!nan);
    }
}

template <class T>
Index squeeze_into(const Run& run, const void* values, void* out) {
    const T* x = static_cast<const T*>(values);
    T* kept = static_cast<T*>(out);
    Index n = 0, i = 0;  // n <= i, so this also works in place
    for (; i + 8 <= run.count; i += 8) {
        std::uint64_t eight;  // what is missing often lies together
        std::memcpy(&eight, run.included + i, sizeof eight);
        if (eight == 0) {
            continue;
        }
        for (Index k = i; k < i + 8; ++k) {
            kept[n] = x[k];
            n += run.included[k];
        }
    }
    for (; i < run.count; ++i) {
        kept[n] = x[i];
        n += run.included[i];
    }
    return n;
}

}  // namespace

/// Whether the mask (null: none) or skipna leaves out any element of the run.
bool Feeder::excludes_any(const std::byte* mask, Index mask_stride) const {
    if (mask != nullptr && mask_stride == 1) {
        if (std::memchr(mask, 0, static_cast<std::size_t>(run_.count)) != nullptr) {
            return true;
        }
    } else {
        for (Index i = 0; mask != nullptr && i < run_.count; ++i) {
            if (mask[i * mask_stride] == std::byte{0}) {
                return true;
            }
        }
    }
    for (int i = 0; skipna_ && i < needs_.inputs; ++i) {
        if (has_nan(run_.values[i], run_.count, run_.swapped)) {
            return true;
        }
    }
    return false;
}

void Feeder::feed_selected(const std::byte* mask, Index mask_stride) {
    included_.resize(static_cast<std::size_t>(gathered_max));
    if (mask == nullptr) {
        std::fill_n(included_.data(), run_.count, std::uint8_t{1});
    } else if (mask_stride == 1) {
        std::memcpy(included_.data(), mask, static_cast<std::size_t>(run_.count));
    } else {
        for (Index i = 0; i < run_.count; ++i) {
            included_[static_cast<std::size_t>(i)] =
                static_cast<std::uint8_t>(mask[i * mask_stride]);
        }
    }
    if (summary_alone_ && !weighted_ && run_.cell_step == 0 && !is_complex(run_.dtype)) {
        run_.count = kernels().summary_present[static_cast<int>(run_.dtype)](
            run_.values[0], included_.data(), skipna_, run_.count, summary_);
        run_.summary = &summary_;
        for (RunPartial* partial : run_.count > 0 ? partials_ : partials_.first(0)) {
            partial->absorb_run(run_);
        }
        return;
    }
    select();
    feed();
}

/// Applies mask and skipna to the run: marks what does not count, or squeezes it out where cells
/// allow.
void Feeder::select() {
    for (Index i = 0; masked_ && i < run_.count; ++i) {
        included_[static_cast<std::size_t>(i)] = included_[static_cast<std::size_t>(i)] != 0;
    }
    for (int i = 0; skipna_ && i < needs_.inputs; ++i) {
        switch (needs_.dtype) {
            case DType::Float32:
                exclude_nan(run_.as<float>(i), run_.count, included_.data());
                break;
            case DType::Float64:
                exclude_nan(run_.as<double>(i), run_.count, included_.data());
                break;
            case DType::Complex64:
                exclude_nan(run_.as<std::complex<float>>(i), run_.count, included_.data());
                break;
            default:
                exclude_nan(run_.as<std::complex<double>>(i), run_.count, included_.data());
        }
    }
    run_.included = included_.data();
    if (run_.cell_step == 0 && !needs_.positions) {
        squeeze();
    }
}

void Feeder::squeeze() {
    struct Pair {
        double a, b;
    };
    Index n = 0;
    for (int i = 0; i < needs_.inputs; ++i) {
        void* const out = buffer(i, run_.count);
        switch (item_) {
            case 1:
                n = squeeze_into<std::uint8_t>(run_, run_.values[i], out);
                break;
            case 2:
                n = squeeze_into<std::uint16_t>(run_, run_.values[i], out);
                break;
            case 4:
                n = squeeze_into<float>(run_, run_.values[i], out);
                break;
            case 8:
                n = squeeze_into<double>(run_, run_.values[i], out);
                break;
            default:
                n = squeeze_into<Pair>(run_, run_.values[i], out);
        }
        run_.values[i] = out;
    }
    if (run_.weights != nullptr) {
        weights_.resize(gathered_max);
        squeeze_into<double>(run_, run_.weights, weights_.data());
        run_.weights = weights_.data();
    }
    run_.count = n;
    run_.included = nullptr;
}

}  // namespace fluvial::compute
