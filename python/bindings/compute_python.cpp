// SPDX-License-Identifier: Apache-2.0
// Operators whose functions are written in Python: they take the GIL, the rest of a reduction runs
// without.
#include <nanobind/stl/string.h>

#include "array_function.hpp"
#include "compute.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/compute/apply.hpp"
#include "fluvial/compute/per_cell.hpp"
#include "lent_arrays.hpp"
#include "python_failure.hpp"

namespace fluvial::python {
namespace {

using compute::Domain;
using compute::Partial;
using compute::Piece;
using compute::Result;

/// The arrays as numpy.ma.MaskedArray where some elements do not count; none when none counts.
std::optional<nb::list> masked(const nb::list& arrays, const ArrayView& included) {
    compute::Array left_out = dense_copy(included);
    bool any = false, all = true;
    for (std::byte& byte : left_out.bytes) {
        const bool counts = byte != std::byte{0};
        any = any || counts;
        all = all && counts;
        byte = std::byte{!counts};
    }
    if (all) {
        return arrays;
    }
    if (!any) {
        return std::nullopt;
    }
    const nb::object mask = to_numpy(left_out).attr("view")("bool");
    nb::list out;
    for (const nb::handle array : arrays) {
        out.append(nb::module_::import_("numpy.ma").attr("MaskedArray")(array, mask));
    }
    return out;
}

class PythonPartial final : public Partial {
  public:
    PythonPartial(std::shared_ptr<nb::object> op, const Domain& domain, std::string name)
        : op_(std::move(op)), domain_(domain), name_(std::move(name)) {
        const nb::gil_scoped_acquire gil;
        state_ = share(
            calling_user([&] { return op_->attr("identity")(to_tuple(domain.selection.extent)); }));
    }

    void absorb(const Piece& piece) override {
        check_piece(piece, domain_, name_);
        if (piece.where.empty()) {
            return;
        }
        if (piece.weights != nullptr) {
            throw InvalidArgument(Problem{name_ + " is written in Python and does not know weights",
                                          "weights", "none",
                                          "Take them as a further input of the operator"});
        }
        const nb::gil_scoped_acquire gil;
        LentArrays arrays(piece.inputs);
        nb::object state;
        {
            nb::object given = arrays.list();
            if (piece.mask != nullptr) {
                const auto some = masked(arrays.list(), *piece.mask);
                if (!some) {
                    return;
                }
                given = *some;
            }
            state = calling_user(
                [&] { return op_->attr("absorb")(*state_, given, to_tuple(piece.where.offset)); });
        }
        arrays.check_returned(name_);
        replace(std::move(state));
    }

    void merge(const Partial& other) override {
        const nb::gil_scoped_acquire gil;
        replace(calling_user([&] {
            return op_->attr("merge")(*state_, *static_cast<const PythonPartial&>(other).state_);
        }));
    }

    std::vector<std::byte> encode() const override {
        const nb::gil_scoped_acquire gil;
        const auto bytes = nb::cast<nb::bytes>(
            calling_user([&] { return nb::module_::import_("pickle").attr("dumps")(*state_, 5); }));
        const auto* first = reinterpret_cast<const std::byte*>(bytes.c_str());
        return {first, first + bytes.size()};
    }

    void decode(std::span<const std::byte> bytes) override {
        const nb::gil_scoped_acquire gil;
        state_ = share(calling_user([&] {
            return nb::module_::import_("pickle").attr("loads")(
                nb::bytes(bytes.data(), bytes.size()));
        }));
    }

    Result finish() const override {
        const nb::gil_scoped_acquire gil;
        const nb::object value = calling_user([&] { return op_->attr("finish")(*state_); });
        Result result;
        if (nb::isinstance<nb::dict>(value)) {
            for (const auto& [key, array] : nb::cast<nb::dict>(value)) {
                result.emplace(nb::cast<std::string>(key), from_numpy(array));
            }
        } else {
            result.emplace("value", from_numpy(value));
        }
        return result;
    }

  private:
    /// None means that the method changed the state in place.
    void replace(nb::object state) {
        if (!state.is_none()) {
            state_ = share(std::move(state));
        }
    }

    std::shared_ptr<nb::object> op_;
    Domain domain_;
    std::string name_;
    std::shared_ptr<nb::object> state_;
};

class PythonOperator final : public compute::Operator {
  public:
    explicit PythonOperator(nb::object op)
        : name_(nb::cast<std::string>(op.type().attr("__name__"))),
          declared_(declared_by(op)),
          inputs_(nb::hasattr(op, "inputs") ? nb::cast<int>(op.attr("inputs")) : 1),
          op_(share(std::move(op))) {}

    std::string name() const override { return name_; }
    std::string describe() const override { return declared_; }
    int inputs() const override { return inputs_; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        if (static_cast<int>(domain.over.size()) < domain.selection.ndim()) {
            return compute::per_cell_identity(*this, domain);
        }
        return std::make_unique<PythonPartial>(op_, domain, name_);
    }

  private:
    std::string name_, declared_;
    int inputs_;
    std::shared_ptr<nb::object> op_;
};

/// The dtype that `function` gives for one element of each dtype.
DType probe(const ArrayFunction& function, std::span<const DType> dtypes) {
    const auto numpy = nb::module_::import_("numpy");
    nb::list ones;
    for (const DType dtype : dtypes) {
        ones.append(numpy.attr("ones")(1, std::string(name_of(dtype))));
    }
    return from_numpy(function(ones, {1})).dtype;
}

}  // namespace

std::shared_ptr<nb::object> share(nb::object object) {
    return {new nb::object(std::move(object)), [](nb::object* held) {
                const nb::gil_scoped_acquire gil;
                delete held;
            }};
}

std::string declared_by(nb::handle object, nb::handle name, nb::handle version) {
    const auto said = [](nb::handle of, const char* key) {
        return nb::object(nb::getattr(of, key, nb::none()));
    };
    nb::object called = nb::borrow(name);
    for (const char* key : {"name", "__qualname__", "__name__"}) {  // the last one of ufuncs
        if (!nb::isinstance<nb::str>(called)) {
            called = said(object, key);
        }
    }
    if (!nb::isinstance<nb::str>(called)) {
        called = said(object.type(), "__qualname__");
    }
    const nb::object counted = version.is_none() ? said(object, "version") : nb::borrow(version);
    return declared(nb::cast<std::string>(called),
                    counted.is_none() ? "" : nb::cast<std::string>(nb::str(counted)));
}

compute::OperatorPtr python_operator(nb::object object) {
    return std::make_shared<PythonOperator>(std::move(object));
}

compute::OperatorPtr python_apply(nb::object function, compute::OperatorPtr op, int inputs,
                                  nb::object dtype, const std::string& declared) {
    const ArrayFunction applied(std::move(function), ArrayFunction::Returns::Numbers,
                                "the function of Apply", declared);
    const auto evaluate = [applied](std::span<const ArrayView> views, const MutableArrayView& out) {
        const nb::gil_scoped_acquire gil;
        LentArrays arrays(views);
        {
            const auto numpy = nb::module_::import_("numpy");
            const nb::object value = applied(arrays.list(), out.extent);
            const nb::object wanted = numpy.attr("asarray")(value, std::string(name_of(out.dtype)));
            const nb::object full = numpy.attr("broadcast_to")(wanted, to_tuple(out.extent));
            const BorrowedArray borrowed(full);
            copy(borrowed.view(), out);
        }
        arrays.check_returned("the function of Apply");
    };
    std::optional<DType> fixed;
    if (!dtype.is_none()) {
        fixed = dtype_from_name(
            nb::cast<std::string>(nb::module_::import_("numpy").attr("dtype")(dtype).attr("name")));
    }
    const auto rule = [applied, fixed](std::span<const DType> dtypes) {
        if (fixed) {
            return *fixed;
        }
        const nb::gil_scoped_acquire gil;
        return probe(applied, dtypes);
    };
    constexpr Index block_elements =
        65536;  // a NumPy call costs about as much as a thousand elements
    return std::make_shared<compute::Apply>(
        evaluate, rule, inputs, std::move(op), block_elements,
        fixed ? text(declared, " as ", name_of(*fixed)) : declared);
}

}  // namespace fluvial::python
