// SPDX-License-Identifier: Apache-2.0
/// norm: (Σw|x|^p)^(1/p), float64; p = 2 unless given, p = infinity is max|x| (weights do not
/// matter), p = 0 counts (or weighs) what is not zero. Sums are compensated: relative error about
/// 1e-15. As with NumPy's, |x|^p must stay in the range of float64. The norm of nothing is 0.
#include <limits>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

class NormPartial final : public StatePartial<NormPartial> {
  public:
    NormPartial(const Domain& domain, const RunNeeds& needs, double p)
        : StatePartial("norm", domain, needs), p_(p), largest_(std::isinf(p) ? at(cells()) : 0) {}

    void absorb_run(const Run& run) override {
        if (largest_.empty()) {
            powers_.reserve(cells());
        }
        if (p_ == 2 && run.cell_step == 0 && run.weights == nullptr && !is_integer(run.dtype)) {
            // A complex number's |x|² is that of its two parts.
            const Index reals = is_complex(run.dtype) ? 2 * run.count : run.count;
            const bool single = run.dtype == DType::Float32 || run.dtype == DType::Complex64;
            powers_.add(at(run.cell),
                        single ? kernels().centred_float(run.as<float>(), reals, 0).second
                               : kernels().centred_double(run.as<double>(), reals, 0).second);
            return;
        }
        dispatch_run(run.dtype, [&]<class T>() {
            if constexpr (!std::is_same_v<T, Half>) {
                each<T>(run,
                        [&](Index cell, T x, double w, Index) { add(at(cell), magnitude(x), w); });
            }
        });
    }

    void merge(const Partial& other) override {
        powers_.merge(same(other).powers_);
        for (std::size_t cell = 0; cell < largest_.size(); ++cell) {
            keep_larger(cell, same(other).largest_[cell]);
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        powers_.fields(visit);
        visit(largest_);
    }

    Result finish() const override {
        Array out = result(DType::Float64);
        for (Index cell = 0; cell < cells(); ++cell) {
            double& norm = out.as<double>()[cell];
            norm = std::isinf(p_) ? largest_[at(cell)] : powers_.value(at(cell));
            if (p_ == 2) {
                norm = std::sqrt(norm);
            } else if (p_ != 0 && p_ != 1 && !std::isinf(p_)) {
                norm = std::pow(norm, 1 / p_);
            }
        }
        return {{"value", std::move(out)}};
    }

  private:
    template <class T>
    static double magnitude(T x) {
        if constexpr (is_complex_type<T>) {
            return std::hypot(static_cast<double>(x.real()), static_cast<double>(x.imag()));
        } else {
            return std::abs(static_cast<double>(x));
        }
    }
    void add(std::size_t cell, double x, double w) {
        if (!largest_.empty()) {
            keep_larger(cell, x);
        } else {
            powers_.add(cell, w * (p_ == 2   ? x * x
                                   : p_ == 1 ? x
                                   : p_ == 0 ? (x != 0 ? 1.0 : 0.0)
                                             : std::pow(x, p_)));
        }
    }
    void keep_larger(std::size_t cell, double x) {
        if (x > largest_[cell] || x != x) {
            largest_[cell] = x;
        }
    }

    double p_;
    Totals powers_;
    std::vector<double> largest_;
};

class Norm final : public Operator {
  public:
    Norm(bool skipna, double p) : skipna_(skipna), p_(p) {}
    std::string name() const override { return "norm"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, false};
        return std::make_unique<NormPartial>(domain, needs, p_);
    }

  private:
    bool skipna_;
    double p_;
};

OperatorPtr make_norm(const Options& options) {
    OptionReader reader(options, "norm");
    const bool skipna = reader.boolean("skipna", true);
    const double p = reader.number("p", 2);
    reader.done();
    if (!(p >= 0)) {
        throw InvalidArgument(
            Problem{"norm: p is out of range", text(p), "0 or more, infinity included", ""});
    }
    return std::make_shared<Norm>(skipna, p);
}

}  // namespace

Registration register_norm() {
    return {"norm", "2-norm, or p-norm; option p", make_norm, {}};
}

}  // namespace fluvial::compute
