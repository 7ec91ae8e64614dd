// SPDX-License-Identifier: Apache-2.0
/// Σx or Σw·x of every kept position, whatever the dtype: integers exactly, the rest compensated in
/// float64 (operators/sum.cpp says to which error).
#pragma once

#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {

/// The values of a real run as float64: its own memory when it is float64, else `buffer`.
inline const double* as_doubles(const Run& run, std::vector<double>& buffer, int input = 0) {
    if (run.dtype == DType::Float64) {
        return run.as<double>(input);
    }
    buffer.resize(static_cast<std::size_t>(run.count));
    dispatch_run(run.dtype, [&]<class T>() {
        if constexpr (!is_complex_type<T> && !std::is_same_v<T, Half>) {
            const T* x = run.as<T>(input);
            for (Index i = 0; i < run.count; ++i) {
                buffer[static_cast<std::size_t>(i)] = static_cast<double>(x[i]);
            }
        }
    });
    return buffer.data();
}

/// Integer: std::uint64_t wraps modulo 2^64, as NumPy's sum does; Int128 never wraps.
template <class Integer>
class Sums {
  public:
    Sums(DType dtype, Index cells) : dtype_(dtype), cells_(cells) {}

    /// Weighted sums are real, also where nothing counts.
    void expect_weights() { real_.reserve(cells_); }

    void absorb(const Run& run) {
        if (run.weights == nullptr && is_integer(dtype_)) {
            exact_.resize(static_cast<std::size_t>(cells_));
            absorb_integers(run);
            return;
        }
        real_.reserve(cells_);
        if (run.columns != nullptr) {
            kernels().add_across_double(run.columns->sum, nullptr, run.count,
                                        real_.high.data() + run.cell, real_.low.data() + run.cell);
        } else if (is_complex(dtype_)) {
            imag_.reserve(cells_);
            absorb_complex(run);
        } else {
            absorb_reals(run);
        }
    }

    void merge(const Sums& other) {
        exact_.resize(std::max(exact_.size(), other.exact_.size()));
        for (std::size_t cell = 0; cell < other.exact_.size(); ++cell) {
            exact_[cell] += other.exact_[cell];
        }
        real_.merge(other.real_);
        imag_.merge(other.imag_);
    }

    template <class Visit>
    void fields(Visit&& visit) {
        visit(exact_);
        real_.fields(visit);
        imag_.fields(visit);
    }

    /// Whether anything but unweighted integers was added.
    bool has_real() const { return !real_.high.empty(); }
    Integer exact(std::size_t cell) const { return exact_.empty() ? Integer{0} : exact_[cell]; }
    double real(std::size_t cell) const { return real_.value(cell); }
    double imag(std::size_t cell) const { return imag_.value(cell); }

  private:
    void absorb_integers(const Run& run) {
        if (run.cell_step == 0) {
            exact_[static_cast<std::size_t>(run.cell)] += static_cast<Integer>(run.summary->exact);
            return;
        }
        if constexpr (std::is_same_v<Integer, std::uint64_t>) {
            if (run.cell_step == 1) {
                kernels().add_across_integer[static_cast<int>(dtype_)](
                    run.values[0], run.included, run.count, exact_.data() + run.cell);
                return;
            }
        }
        dispatch_run(dtype_, [&]<class T>() {
            if constexpr (std::is_integral_v<T>) {
                each<T>(run, [&](Index cell, T x, double, Index) {
                    exact_[static_cast<std::size_t>(cell)] += static_cast<Integer>(x);
                });
            }
        });
    }

    void absorb_reals(const Run& run) {
        if (run.cell_step == 0) {
            if (run.weights == nullptr) {
                real_.add(static_cast<std::size_t>(run.cell), run.summary->sum, run.summary->lost);
            } else {
                add_weighted(run);
            }
        } else if (run.cell_step == 1 && run.weights == nullptr) {
            double* const high = real_.high.data() + run.cell;
            double* const low = real_.low.data() + run.cell;
            if (run.dtype == DType::Float32) {
                kernels().add_across_float(run.as<float>(), run.included, run.count, high, low);
            } else {
                kernels().add_across_double(run.as<double>(), run.included, run.count, high, low);
            }
        } else {
            const double* x = as_doubles(run, buffer_);
            for (Index i = 0; i < run.count; ++i) {
                if (run.included == nullptr || run.included[i] != 0) {
                    real_.add(static_cast<std::size_t>(run.cell + i * run.cell_step),
                              run.weights == nullptr ? x[i] : run.weights[i] * x[i]);
                }
            }
        }
    }

    /// Few elements at a time, which the kernel adds without compensation: 16 a lane.
    void add_weighted(const Run& run) {
        constexpr Index few = 256;
        const double* const x = as_doubles(run, buffer_);
        for (Index begin = 0; begin < run.count; begin += few) {
            const Index count = std::min(few, run.count - begin);
            real_.add(static_cast<std::size_t>(run.cell),
                      kernels().centred_weighted(x + begin, run.weights + begin, count, 0).first);
        }
    }

    void absorb_complex(const Run& run) {
        if (run.cell_step == 0 && run.weights == nullptr) {
            const auto cell = static_cast<std::size_t>(run.cell);
            real_.add(cell, run.summary->sum, run.summary->lost);
            imag_.add(cell, run.summary->imag, run.summary->lost_imag);
            return;
        }
        dispatch_run(dtype_, [&]<class T>() {
            if constexpr (is_complex_type<T>) {
                each<T>(run, [&](Index cell, T x, double w, Index) {
                    real_.add(static_cast<std::size_t>(cell), w * static_cast<double>(x.real()));
                    imag_.add(static_cast<std::size_t>(cell), w * static_cast<double>(x.imag()));
                });
            }
        });
    }

    DType dtype_;
    Index cells_;
    std::vector<Integer> exact_;
    Totals real_, imag_;
    std::vector<double> buffer_;
};

/// How many elements, or how much weight, every kept position has seen.
class Counts {
  public:
    explicit Counts(Index cells) : cells_(cells), count_(static_cast<std::size_t>(cells)) {}

    void absorb(const Run& run) {
        if (run.weights != nullptr) {
            weight_.reserve(cells_);
            if (run.cell_step == 0 && run.included == nullptr) {
                Summary summary;
                const void* const row = run.weights;
                kernels().summary[0][static_cast<int>(DType::Float64)](&row, 1, run.count,
                                                                       summary_sum, summary);
                weight_.add(static_cast<std::size_t>(run.cell), summary.sum, summary.lost);
                return;
            }
            for (Index i = 0; i < run.count; ++i) {
                if (run.included == nullptr || run.included[i] != 0) {
                    weight_.add(static_cast<std::size_t>(run.cell + i * run.cell_step),
                                run.weights[i]);
                }
            }
        } else {
            count(run);
        }
    }
    /// Elements, whatever their weight.
    void count(const Run& run) {
        if (run.cell_step == 0 && run.included == nullptr) {
            count_[static_cast<std::size_t>(run.cell)] += run.count;
            return;
        }
        if (run.cell_step == 1 && run.included == nullptr) {
            Index* const cells = count_.data() + run.cell;
            const Index rows = run.columns != nullptr ? run.columns->rows : 1;
            for (Index i = 0; i < run.count; ++i) {
                cells[i] += rows;
            }
            return;
        }
        for (Index i = 0; i < run.count; ++i) {
            count_[static_cast<std::size_t>(run.cell + i * run.cell_step)] +=
                run.included == nullptr || run.included[i] != 0;
        }
    }
    void merge(const Counts& other) {
        for (std::size_t cell = 0; cell < count_.size(); ++cell) {
            count_[cell] += other.count_[cell];
        }
        weight_.merge(other.weight_);
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(count_);
        weight_.fields(visit);
    }
    Index elements(std::size_t cell) const { return count_[cell]; }
    double total(std::size_t cell) const {
        return static_cast<double>(count_[cell]) + weight_.value(cell);
    }

  private:
    Index cells_;
    std::vector<Index> count_;
    Totals weight_;
};

}  // namespace fluvial::compute
