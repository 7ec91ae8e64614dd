// SPDX-License-Identifier: Apache-2.0
/// product: integers give int64 or uint64 that wrap modulo 2^64 as in NumPy (bitwise reproducible);
/// real types give float64, complex ones complex128, to a relative error of 2^-53 (complex: 2.3
/// times that) a factor unless an intermediate product leaves the range of float64. The product of
/// nothing is 1. Weights are refused: a weighted product has no agreed meaning.
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/state.hpp"

namespace fluvial::compute {
namespace {

/// T is std::uint64_t, double or std::complex<double>.
template <class T>
class ProductPartial final : public StatePartial<ProductPartial<T>> {
    using Base = StatePartial<ProductPartial<T>>;

  public:
    ProductPartial(const Domain& domain, const RunNeeds& needs)
        : Base("product", domain, needs), value_(Base::at(this->cells()), T{1}) {}

    void absorb_run(const Run& run) override {
        if (run.weights != nullptr) {
            throw InvalidArgument(Problem{"product does not take weights", "weights", "none",
                                          "Multiply by the weights, or raise to them, with Apply"});
        }
        dispatch_run(run.dtype, [&]<class Value>() {
            if constexpr (std::is_convertible_v<Value, T> || std::is_constructible_v<T, Value>) {
                if (run.cell_step == 0 && run.included == nullptr) {
                    value_[Base::at(run.cell)] *= dense(run.as<Value>(), run.count);
                } else {
                    each<Value>(run, [&](Index cell, Value x, double, Index) {
                        value_[Base::at(cell)] *= static_cast<T>(x);
                    });
                }
            }
        });
    }

    void merge(const Partial& other) override {
        const auto& o = Base::same(other);
        for (std::size_t cell = 0; cell < value_.size(); ++cell) {
            value_[cell] *= o.value_[cell];
        }
    }
    template <class Visit>
    void fields(Visit&& visit) {
        visit(value_);
    }
    Result finish() const override {
        const DType dtype = this->needs().dtype;
        Array out = this->result(is_complex(dtype)          ? DType::Complex128
                                 : is_floating(dtype)       ? DType::Float64
                                 : is_signed_integer(dtype) ? DType::Int64
                                                            : DType::UInt64);
        std::copy(value_.begin(), value_.end(), out.template as<T>());
        return {{"value", std::move(out)}};
    }

  private:
    /// Eight products side by side, for the latency of a multiplication.
    template <class Value>
    static T dense(const Value* x, Index n) {
        T lanes[8] = {1, 1, 1, 1, 1, 1, 1, 1};
        Index i = 0;
        for (; i + 8 <= n; i += 8) {
            for (int lane = 0; lane < 8; ++lane) {
                lanes[lane] *= static_cast<T>(x[i + lane]);
            }
        }
        for (; i < n; ++i) {
            lanes[0] *= static_cast<T>(x[i]);
        }
        return ((lanes[0] * lanes[1]) * (lanes[2] * lanes[3])) *
               ((lanes[4] * lanes[5]) * (lanes[6] * lanes[7]));
    }

    std::vector<T> value_;
};

class Product final : public Operator {
  public:
    explicit Product(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return "product"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        const RunNeeds needs{kernel_dtype(domain.dtypes[0]), 1, skipna_, false};
        if (is_integer(needs.dtype)) {
            return std::make_unique<ProductPartial<std::uint64_t>>(domain, needs);
        }
        if (is_complex(needs.dtype)) {
            return std::make_unique<ProductPartial<std::complex<double>>>(domain, needs);
        }
        return std::make_unique<ProductPartial<double>>(domain, needs);
    }

  private:
    bool skipna_;
};

OperatorPtr make_product(const Options& options) {
    OptionReader reader(options, "product");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<Product>(skipna);
}

}  // namespace

Registration register_product() {
    return {"product", "product of the elements", make_product, {}};
}

}  // namespace fluvial::compute
