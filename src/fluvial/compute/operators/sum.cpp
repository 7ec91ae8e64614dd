// SPDX-License-Identifier: Apache-2.0
/// sum: Σx, or Σw·x. Integers give int64 or uint64 that wrap modulo 2^64 as in NumPy (bitwise
/// reproducible), float64 when weighted; real types give float64 and complex ones complex128. The
/// sum of nothing is 0. The error is at most 37 · 2^-53 Σ|w·x| (4.2e-15 Σ|w·x|) for any number of
/// elements: sums of up to 32 elements are rounded, sums of such sums are compensated.
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

class SumPartial final : public StatePartial<SumPartial> {
  public:
    SumPartial(const Domain& domain, const RunNeeds& needs)
        : StatePartial("sum", domain, needs), sums_(needs.dtype, cells()) {}

    unsigned summary_parts() const override { return summary_sum; }
    bool takes_columns() const override { return true; }
    bool takes_summary_alone() const override { return true; }
    void begin_runs(bool weighted) override {
        if (weighted) {
            sums_.expect_weights();
        }
    }
    void absorb_run(const Run& run) override { sums_.absorb(run); }
    void merge(const Partial& other) override { sums_.merge(same(other).sums_); }
    template <class Visit>
    void fields(Visit&& visit) {
        sums_.fields(visit);
    }

    Result finish() const override {
        const DType dtype = needs().dtype;
        Array out;
        if (is_complex(dtype)) {
            out = result(DType::Complex128);
            for (Index cell = 0; cell < cells(); ++cell) {
                out.as<std::complex<double>>()[cell] = {sums_.real(at(cell)), sums_.imag(at(cell))};
            }
        } else if (is_floating(dtype) || sums_.has_real()) {
            out = result(DType::Float64);
            for (Index cell = 0; cell < cells(); ++cell) {
                out.as<double>()[cell] =
                    sums_.real(at(cell)) + static_cast<double>(as_signed(at(cell)));
            }
        } else {
            out = result(is_signed_integer(dtype) ? DType::Int64 : DType::UInt64);
            for (Index cell = 0; cell < cells(); ++cell) {
                out.as<std::uint64_t>()[cell] = sums_.exact(at(cell));
            }
        }
        return {{"value", std::move(out)}};
    }

  private:
    /// Unweighted integers beside weighted ones: their sum with its sign.
    double as_signed(std::size_t cell) const {
        const std::uint64_t bits = sums_.exact(cell);
        return is_signed_integer(needs().dtype)
                   ? static_cast<double>(static_cast<std::int64_t>(bits))
                   : static_cast<double>(bits);
    }

    Sums<std::uint64_t> sums_;
};

class Sum final : public Operator {
  public:
    explicit Sum(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return "sum"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        return std::make_unique<SumPartial>(
            domain, RunNeeds{kernel_dtype(domain.dtypes[0]), 1, skipna_, false});
    }

  private:
    bool skipna_;
};

OperatorPtr make_sum(const Options& options) {
    OptionReader reader(options, "sum");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<Sum>(skipna);
}

}  // namespace

Registration register_sum() {
    return {"sum", "sum of the elements, or of weight times element", make_sum, {}};
}

}  // namespace fluvial::compute
