// SPDX-License-Identifier: Apache-2.0
/// argmin and argmax: "value", the extremum in the dtype of the data, and "coordinates", where it
/// is in the dataset (int64, one a dimension). Of equal elements the first in row-major order wins
/// (the order in which the caller counts: Domain::backwards), and a NaN wins over everything, as in
/// NumPy, so the result is bitwise reproducible. Real types.
/// Of nothing: NaN at coordinates -1 for floating types, InvalidArgument for integers. Weights do
/// not matter.
#include <limits>

#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

template <class T, bool Least>
class ArgExtremumPartial final : public StatePartial<ArgExtremumPartial<T, Least>> {
    using Base = StatePartial<ArgExtremumPartial<T, Least>>;

  public:
    ArgExtremumPartial(const Domain& domain, const RunNeeds& needs)
        : Base(Least ? "argmin" : "argmax", domain, needs),
          best_(Base::at(this->cells())),
          position_(Base::at(this->cells()), -1) {}

    unsigned summary_parts() const override { return summary_bounds; }

    void absorb_run(const Run& run) override {
        if (run.summary == nullptr) {
            each<T>(run, [&](Index cell, T x, double, Index i) {
                keep(Base::at(cell), x, run.position + i * run.position_step);
            });
            return;
        }
        // The bound of the run says whether it is worth a search.
        const T bound = (Least ? run.summary->min : run.summary->max).as<T>();
        const std::size_t cell = Base::at(run.cell);
        const bool nan = run.summary->nan;
        if (position_[cell] >= 0 && !nan &&
            !(Least ? bound <= best_[cell] : bound >= best_[cell])) {
            return;
        }
        const T* x = run.as<T>();
        const Index step = run.position_step < 0 ? -1 : 1;
        Index i = run.position_step < 0 ? run.count - 1 : 0;
        while (nan ? x[i] == x[i] : x[i] != bound) {
            i += step;
        }
        keep(cell, x[i], run.position + i * run.position_step);
    }

    void merge(const Partial& other) override {
        const auto& o = Base::same(other);
        for (std::size_t cell = 0; cell < best_.size(); ++cell) {
            if (o.position_[cell] >= 0) {
                keep(cell, o.best_[cell], o.position_[cell]);
            }
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(best_);
        visit(position_);
    }

    Result finish() const override {
        const DType dtype = this->domain().dtypes[0];
        const int ndim = this->domain().selection.ndim();
        Array value = this->result(dtype);
        Coordinates shape = this->kept_shape();
        shape.push_back(ndim);
        Array coordinates(DType::Int64, shape);
        for (std::size_t cell = 0; cell < best_.size(); ++cell) {
            const T x = value_of(cell);
            if (dtype == DType::Float16) {
                value.as<Half>()[cell] = Half(static_cast<float>(x));
            } else {
                value.as<T>()[cell] = x;
            }
            const Coordinates point = position_[cell] < 0
                                          ? Coordinates(ndim, -1)
                                          : global_coordinates(position_[cell], this->domain());
            std::copy(point.begin(), point.end(),
                      coordinates.as<Index>() + cell * static_cast<std::size_t>(point.size()));
        }
        return {{"value", std::move(value)}, {"coordinates", std::move(coordinates)}};
    }

  private:
    void keep(std::size_t cell, T x, Index position) {
        const bool first = position_[cell] < 0;
        const bool nan = x != x, best_nan = best_[cell] != best_[cell];
        const bool ties = nan ? best_nan : x == best_[cell];
        const bool better =
            nan ? !best_nan : !best_nan && (Least ? x < best_[cell] : x > best_[cell]);
        if (first || better || (ties && position < position_[cell])) {
            best_[cell] = x;
            position_[cell] = position;
        }
    }

    T value_of(std::size_t cell) const {
        constexpr T nan = std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : T{};
        if (position_[cell] < 0) {
            if (std::is_integral_v<T>) {
                throw InvalidArgument(Problem{text(this->name(), " of no elements has no value"),
                                              text("no element included for kept position ", cell),
                                              "at least one element a kept position",
                                              "Widen the selection or the mask"});
            }
            return nan;
        }
        return best_[cell] != best_[cell] ? nan : static_cast<T>(best_[cell] + T{0});
    }

    std::vector<T> best_;
    std::vector<Index> position_;  ///< of the best; -1: nothing seen
};

template <bool Least>
class ArgExtremum final : public Operator {
  public:
    explicit ArgExtremum(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return Least ? "argmin" : "argmax"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, true};
        return dispatch(needs.dtype, [&]<class T>() -> std::unique_ptr<Partial> {
            if constexpr (std::is_arithmetic_v<T>) {
                return std::make_unique<ArgExtremumPartial<T, Least>>(domain, needs);
            } else {
                return nullptr;
            }
        });
    }

  private:
    bool skipna_;
};

template <bool Least>
OperatorPtr make_arg_extremum(const Options& options) {
    OptionReader reader(options, Least ? "argmin" : "argmax");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<ArgExtremum<Least>>(skipna);
}

}  // namespace

Registration register_argmin() {
    return {"argmin", "smallest element and where it is", make_arg_extremum<true>, {}};
}
Registration register_argmax() {
    return {"argmax", "largest element and where it is", make_arg_extremum<false>, {}};
}

}  // namespace fluvial::compute
