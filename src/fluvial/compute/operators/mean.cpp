// SPDX-License-Identifier: Apache-2.0
/// mean: Σx / n, or Σw·x / Σw. Real types give float64, complex ones complex128. Integers without
/// weights are added exactly in 128 bits, so the result is bitwise reproducible; others are
/// as exact as sum. The mean of nothing is NaN.
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

class MeanPartial final : public StatePartial<MeanPartial> {
  public:
    MeanPartial(const Domain& domain, const RunNeeds& needs)
        : StatePartial("mean", domain, needs), sums_(needs.dtype, cells()), counts_(cells()) {}

    unsigned summary_parts() const override { return summary_sum; }
    bool takes_columns() const override { return true; }
    bool takes_summary_alone() const override { return true; }
    void absorb_run(const Run& run) override {
        sums_.absorb(run);
        counts_.absorb(run);
    }
    void merge(const Partial& other) override {
        sums_.merge(same(other).sums_);
        counts_.merge(same(other).counts_);
    }
    template <class Visit>
    void fields(Visit&& visit) {
        sums_.fields(visit);
        counts_.fields(visit);
    }

    Result finish() const override {
        const bool complex = is_complex(needs().dtype);
        Array out = result(complex ? DType::Complex128 : DType::Float64);
        for (Index cell = 0; cell < cells(); ++cell) {
            const double total = counts_.total(at(cell));
            const double real =
                (sums_.real(at(cell)) + static_cast<double>(sums_.exact(at(cell)))) / total;
            if (complex) {
                out.as<std::complex<double>>()[cell] = {real, sums_.imag(at(cell)) / total};
            } else {
                out.as<double>()[cell] = real;
            }
        }
        return {{"value", std::move(out)}};
    }

  private:
    Sums<Int128> sums_;
    Counts counts_;
};

class Mean final : public Operator {
  public:
    explicit Mean(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return "mean"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        return std::make_unique<MeanPartial>(
            domain, RunNeeds{kernel_dtype(domain.dtypes[0]), 1, skipna_, false});
    }

  private:
    bool skipna_;
};

OperatorPtr make_mean(const Options& options) {
    OptionReader reader(options, "mean");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<Mean>(skipna);
}

}  // namespace

Registration register_mean() {
    return {"mean", "arithmetic mean, weighted when weights are given", make_mean, {}};
}

}  // namespace fluvial::compute
