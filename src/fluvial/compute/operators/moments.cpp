// SPDX-License-Identifier: Apache-2.0
/// variance and std: Σw|x - mean|² / (Σw - ddof), float64. Two passes over each run while it is in
/// the cache (the mean, then the squares about it), runs and partials merged by Chan, Golub and
/// LeVeque's formula (doi:10.1080/00031305.1983.10483115), kept axes by Welford's update
/// (doi:10.1080/00401706.1962.10490022): relative error about 1e-15 (1 + |mean| / std). NaN where
/// Σw <= ddof. Complex: real and imaginary parts add up.
#include <limits>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

/// Weight, mean and sum of squares about it, of every cell.
struct Moments {
    std::vector<double> weight, mean, second;

    explicit Moments(Index cells)
        : weight(static_cast<std::size_t>(cells)), mean(weight.size()), second(weight.size()) {}

    /// `w` of 0 changes nothing, but that NaN and infinities spoil the result as they spoil a
    /// weighted sum.
    void add(std::size_t cell, double w, double m, double s) {
        second[cell] += 0 * m;  // NaN when m is not finite
        if (w == 0) {
            second[cell] += s;
            return;
        }
        const double sum = weight[cell] + w;
        const double delta = m - mean[cell];
        if (weight[cell] == 0) {
            mean[cell] = m;
            second[cell] += s;  // 0, or NaN of elements without weight
        } else {
            mean[cell] += delta * (w / sum);
            second[cell] += s + delta * delta * (weight[cell] / sum * w);
        }
        weight[cell] = sum;
    }
    void merge(const Moments& other) {
        for (std::size_t cell = 0; cell < weight.size(); ++cell) {
            add(cell, other.weight[cell], other.mean[cell], other.second[cell]);
        }
    }
    /// Values of a run as float64, all of one cell; `centre` is their mean without weights.
    void absorb_dense(std::size_t cell, const double* x, const double* w, Index n, double centre) {
        if (w == nullptr) {
            add_centred(cell, kernels().centred_double(x, n, centre), centre);
            return;
        }
        // A centre far from the weighted mean would cost digits.
        const CentredSums about = kernels().centred_weighted(x, w, n, centre);
        const double mean = about.weight == 0 ? centre : centre + about.first / about.weight;
        add_centred(cell, kernels().centred_weighted(x, w, n, mean), mean);
    }
    void add_centred(std::size_t cell, const CentredSums& sums, double centre) {
        const double shift = sums.weight == 0 ? 0 : sums.first / sums.weight;
        add(cell, sums.weight, centre + shift, sums.second - sums.first * shift);
    }
    void absorb_across(const Run& run, const double* x) {
        if (run.cell_step == 1) {
            kernels().moments_across(x, run.weights, run.included, run.count,
                                     weight.data() + run.cell, mean.data() + run.cell,
                                     second.data() + run.cell);
            return;
        }
        for (Index i = 0; i < run.count; ++i) {
            if (run.included == nullptr || run.included[i] != 0) {
                add(static_cast<std::size_t>(run.cell + i * run.cell_step),
                    run.weights == nullptr ? 1.0 : run.weights[i], x[i], 0);
            }
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(weight);
        visit(mean);
        visit(second);
    }
};

template <bool Root>
class MomentsPartial final : public StatePartial<MomentsPartial<Root>> {
    using Base = StatePartial<MomentsPartial<Root>>;

  public:
    MomentsPartial(const Domain& domain, const RunNeeds& needs, double ddof)
        : Base(Root ? "std" : "variance", domain, needs),
          ddof_(ddof),
          real_(this->cells()),
          imag_(is_complex(needs.dtype) ? this->cells() : 0) {}

    unsigned summary_parts() const override { return summary_sum; }

    void absorb_run(const Run& run) override {
        const DType dtype = this->needs().dtype;
        if (is_complex(dtype)) {
            absorb_complex(run);
        } else if (run.cell_step != 0) {
            real_.absorb_across(run, as_doubles(run, buffer_));
        } else {
            const double sum =
                is_integer(dtype) ? static_cast<double>(run.summary->exact) : run.summary->sum;
            const double centre = sum / static_cast<double>(run.count);
            if (dtype == DType::Float32 && run.weights == nullptr) {
                real_.add_centred(Base::at(run.cell),
                                  kernels().centred_float(run.as<float>(), run.count, centre),
                                  centre);
            } else {
                real_.absorb_dense(Base::at(run.cell), as_doubles(run, buffer_), run.weights,
                                   run.count, centre);
            }
        }
    }

    void merge(const Partial& other) override {
        real_.merge(Base::same(other).real_);
        imag_.merge(Base::same(other).imag_);
    }
    template <class Visit>
    void fields(Visit&& visit) {
        real_.fields(visit);
        imag_.fields(visit);
    }

    Result finish() const override {
        Array out = this->result(DType::Float64);
        for (std::size_t cell = 0; cell < real_.weight.size(); ++cell) {
            const double all =
                real_.second[cell] + (imag_.second.empty() ? 0.0 : imag_.second[cell]);
            const double squares = all < 0 ? 0 : all;  // rounding; NaN stays
            const double freedom = real_.weight[cell] - ddof_;
            const double variance =
                freedom > 0 ? squares / freedom : std::numeric_limits<double>::quiet_NaN();
            out.as<double>()[cell] = Root ? std::sqrt(variance) : variance;
        }
        return {{"value", std::move(out)}};
    }

  private:
    void absorb_complex(const Run& run) {
        buffer_.resize(Base::at(run.count));
        imag_buffer_.resize(Base::at(run.count));
        dispatch_run(run.dtype, [&]<class T>() {
            if constexpr (is_complex_type<T>) {
                for (Index i = 0; i < run.count; ++i) {
                    buffer_[Base::at(i)] = run.as<T>()[i].real();
                    imag_buffer_[Base::at(i)] = run.as<T>()[i].imag();
                }
            }
        });
        if (run.cell_step != 0) {
            real_.absorb_across(run, buffer_.data());
            imag_.absorb_across(run, imag_buffer_.data());
            return;
        }
        const auto n = static_cast<double>(run.count);
        real_.absorb_dense(Base::at(run.cell), buffer_.data(), run.weights, run.count,
                           run.summary->sum / n);
        imag_.absorb_dense(Base::at(run.cell), imag_buffer_.data(), run.weights, run.count,
                           run.summary->imag / n);
    }

    double ddof_;
    Moments real_, imag_;
    std::vector<double> buffer_, imag_buffer_;
};

template <bool Root>
class MomentsOperator final : public Operator {
  public:
    MomentsOperator(bool skipna, double ddof) : skipna_(skipna), ddof_(ddof) {}
    std::string name() const override { return Root ? "std" : "variance"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, false};
        return std::make_unique<MomentsPartial<Root>>(domain, needs, ddof_);
    }

  private:
    bool skipna_;
    double ddof_;
};

template <bool Root>
OperatorPtr make_moments(const Options& options) {
    OptionReader reader(options, Root ? "std" : "variance");
    const bool skipna = reader.boolean("skipna", true);
    const double ddof = reader.number("ddof", 0);
    reader.done();
    return std::make_shared<MomentsOperator<Root>>(skipna, ddof);
}

}  // namespace

Registration register_variance() {
    return {
        "variance", "mean square deviation from the mean; option ddof", make_moments<false>, {}};
}
Registration register_std() {
    return {"std",
            "standard deviation, the root of the variance; option ddof",
            make_moments<true>,
            {{"ddof", 1.0}}};
}

}  // namespace fluvial::compute
