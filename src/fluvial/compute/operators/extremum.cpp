// SPDX-License-Identifier: Apache-2.0
/// min and max: of real types, in the dtype of the data, bitwise reproducible (a zero is reported
/// as +0, a NaN as the quiet NaN). Weights do not matter. Of nothing (a kept position without
/// elements included): NaN for floating types, as xarray has it; InvalidArgument for integers,
/// which have no such value, as in NumPy.
#include <cstring>
#include <limits>

#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

template <class T, bool Least>
class ExtremumPartial final : public StatePartial<ExtremumPartial<T, Least>> {
    using Base = StatePartial<ExtremumPartial<T, Least>>;

  public:
    ExtremumPartial(const Domain& domain, const RunNeeds& needs)
        : Base(Least ? "min" : "max", domain, needs),
          best_(Base::at(this->cells()), worst()),
          seen_(Base::at(this->cells())) {}

    unsigned summary_parts() const override { return summary_bounds; }
    bool takes_columns() const override { return true; }
    bool takes_summary_alone() const override { return true; }

    void absorb_run(const Run& run) override {
        if (run.summary != nullptr) {
            const T value = (Least ? run.summary->min : run.summary->max).as<T>();
            keep(Base::at(run.cell), run.summary->nan ? nan() : value);
        } else if (run.cell_step == 1) {
            const auto across = Least ? kernels().min_across : kernels().max_across;
            const void* bounds = run.columns == nullptr ? run.values[0]
                                 : Least                ? run.columns->low
                                                        : run.columns->high;
            across[static_cast<int>(run.dtype)](bounds, run.included, run.count,
                                                best_.data() + run.cell);
            if (run.included == nullptr) {
                std::memset(seen_.data() + run.cell, 1, Base::at(run.count));
                return;
            }
            for (Index i = 0; i < run.count; ++i) {
                seen_[Base::at(run.cell + i)] |= run.included[i] != 0;
            }
        } else {
            each<T>(run, [&](Index cell, T x, double, Index) { keep(Base::at(cell), x); });
        }
    }

    void merge(const Partial& other) override {
        const auto& o = Base::same(other);
        for (std::size_t cell = 0; cell < best_.size(); ++cell) {
            if (o.seen_[cell]) {
                keep(cell, o.best_[cell]);
            }
        }
    }

    template <class Visit>
    void fields(Visit&& visit) {
        visit(best_);
        visit(seen_);
    }

    Result finish() const override {
        const DType dtype = this->domain().dtypes[0];
        Array out = this->result(dtype);
        for (std::size_t cell = 0; cell < best_.size(); ++cell) {
            const T value = value_of(cell);
            if (dtype == DType::Float16) {
                out.template as<Half>()[cell] = Half(static_cast<float>(value));
            } else {
                out.template as<T>()[cell] = value;
            }
        }
        return {{"value", std::move(out)}};
    }

  private:
    static constexpr T nan() {
        return std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : T{};
    }
    static constexpr T worst() {
        using Limits = std::numeric_limits<T>;
        if constexpr (std::is_floating_point_v<T>) {
            return Least ? Limits::infinity() : -Limits::infinity();
        } else {
            return Least ? Limits::max() : Limits::lowest();
        }
    }

    void keep(std::size_t cell, T x) {
        seen_[cell] = 1;
        T& best = best_[cell];
        if (x != x || (Least ? x < best : x > best)) {
            best = x;
        }
    }

    T value_of(std::size_t cell) const {
        if (seen_[cell] == 0) {
            if constexpr (std::is_integral_v<T>) {
                throw InvalidArgument(
                    Problem{text(this->name(), " of no elements has no value"),
                            text("no element included for kept position ", cell),
                            "at least one element a kept position",
                            "Widen the selection or the mask, or convert to float (gives NaN)"});
            }
            return nan();
        }
        const T value = best_[cell];
        return value != value ? nan() : static_cast<T>(value + T{0});  // -0 + 0 is +0
    }

    std::vector<T> best_;
    std::vector<std::uint8_t> seen_;
};

template <bool Least>
class Extremum final : public Operator {
  public:
    explicit Extremum(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return Least ? "min" : "max"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, false};
        return dispatch(needs.dtype, [&]<class T>() -> std::unique_ptr<Partial> {
            if constexpr (std::is_arithmetic_v<T>) {
                return std::make_unique<ExtremumPartial<T, Least>>(domain, needs);
            } else {
                return nullptr;
            }
        });
    }

  private:
    bool skipna_;
};

template <bool Least>
OperatorPtr make_extremum(const Options& options) {
    OptionReader reader(options, Least ? "min" : "max");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<Extremum<Least>>(skipna);
}

}  // namespace

Registration register_min() {
    return {"min", "smallest element", make_extremum<true>, {}};
}
Registration register_max() {
    return {"max", "largest element", make_extremum<false>, {}};
}

}  // namespace fluvial::compute
