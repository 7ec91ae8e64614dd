// SPDX-License-Identifier: Apache-2.0
/// Derived expressions: a function of several datasets, element by element, and an operator on what
/// it gives.
///
///     auto speed = make_apply<double, 2>([](double x, double y) { return std::hypot(x, y); },
///     make_operator("max"));
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fluvial/base/terms.hpp"
#include "fluvial/compute/operator.hpp"

namespace fluvial::compute {

/// Evaluates `function` on blocks of at most `block_elements` and feeds them to `op`, so the
/// derived array never exists as a whole. Result, kept axes, weights and mask are those of `op`,
/// which has one input. Ranks know the function by `declared` (base/terms.hpp), its name and
/// version.
class Apply final : public Operator {
  public:
    /// All views have equal extents; `out` is contiguous.
    using Function =
        std::function<void(std::span<const ArrayView> inputs, const MutableArrayView& out)>;
    /// The dtype of the result for inputs of these dtypes. Throws InvalidArgument when it cannot
    /// work on them.
    using DTypeRule = std::function<DType(std::span<const DType>)>;

    Apply(Function function, DTypeRule rule, int inputs, OperatorPtr op,
          Index block_elements = 16384, std::string declared = "a function")
        : function_(std::move(function)),
          rule_(std::move(rule)),
          inputs_(inputs),
          op_(std::move(op)),
          block_elements_(block_elements),
          declared_(std::move(declared)) {}

    std::string name() const override { return "apply(" + op_->name() + ")"; }
    bool any_order() const override { return op_->any_order(); }
    int inputs() const override { return inputs_; }
    std::string describe() const override {
        return text(op_->describe(), " of ", declared_, " of ", inputs_, " inputs");
    }
    std::unique_ptr<Partial> identity(const Domain& domain) const override;

  private:
    Function function_;
    DTypeRule rule_;
    int inputs_;
    OperatorPtr op_;
    Index block_elements_;
    std::string declared_;
};

/// A view's elements as float64 in row-major order, whatever its (real) dtype and strides.
void gather_doubles(const ArrayView& view, double* out);

/// An Apply of a C++ function that takes `Inputs` doubles and returns T (a type that has a dtype);
/// the datasets may be of any real dtype. `name` and `version` are what ranks know the function by.
template <class T, int Inputs, class F>
OperatorPtr make_apply(F function, OperatorPtr op, std::string_view name = "a function",
                       std::string_view version = "") {
    auto block = [function](std::span<const ArrayView> inputs, const MutableArrayView& out) {
        const auto size = static_cast<std::size_t>(volume_of(out.extent));
        std::vector<double> values(Inputs * size);
        for (std::size_t i = 0; i < Inputs; ++i) {
            gather_doubles(inputs[i], values.data() + i * size);
        }
        T* const result = reinterpret_cast<T*>(out.data);
        const auto at = [&]<std::size_t... I>(std::size_t e, std::index_sequence<I...>) {
            return static_cast<T>(function(values[I * size + e]...));
        };
        for (std::size_t e = 0; e < size; ++e) {
            result[e] = at(e, std::make_index_sequence<std::size_t{Inputs}>{});
        }
    };
    constexpr Index block_elements = 16384;
    return std::make_shared<Apply>(
        std::move(block), [](std::span<const DType>) { return dtype_of<T>(); }, Inputs,
        std::move(op), block_elements,
        text(declared(name, version), " as ", name_of(dtype_of<T>())));
}

}  // namespace fluvial::compute
