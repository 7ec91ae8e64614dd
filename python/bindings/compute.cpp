// SPDX-License-Identifier: Apache-2.0
#include "compute.hpp"

#include <typeinfo>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "compute_pieces.hpp"
#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/compute/registry.hpp"

using namespace nanobind::literals;

namespace fluvial::python {
namespace {

using compute::Domain;
using compute::Operator;
using compute::OperatorPtr;
using compute::Option;
using compute::Options;
using compute::Partial;

Options to_options(const nb::dict& dict) {
    Options options;
    for (const auto& [key, value] : dict) {
        const std::string name = to_text(key, "the name of an option");
        Option option;
        if (nb::isinstance<nb::bool_>(value)) {
            option = nb::cast<bool>(value);
        } else if (nb::isinstance<nb::int_>(value)) {
            option = to_int(value, name.c_str());
        } else if (nb::isinstance<nb::float_>(value)) {
            option = nb::cast<double>(value);
        } else if (nb::isinstance<nb::str>(value)) {
            option = nb::cast<std::string>(value);
        } else {
            option = to<std::vector<double>>(value, name.c_str(),
                                             "a bool, an int, a float, a str or a list of numbers");
        }
        options.emplace(name, std::move(option));
    }
    return options;
}

/// A built-in by name; what the classes of fluvial.ops derive from.
class Builtin final : public Operator {
  public:
    Builtin(const std::string& name, const nb::dict& options)
        : op_(compute::make_operator(name, to_options(options))) {}
    explicit Builtin(OperatorPtr op) : op_(std::move(op)) {}
    std::string name() const override { return op_->name(); }
    bool any_order() const override { return op_->any_order(); }
    int inputs() const override { return op_->inputs(); }
    std::string describe() const override { return op_->describe(); }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        return op_->identity(domain);
    }

  private:
    OperatorPtr op_;
};

/// A partial and what it is of: it merges with its own kind alone, as another's state has another
/// size.
class HeldPartial {
  public:
    HeldPartial(OperatorPtr op, Domain domain)
        : op_(std::move(op)), domain_(std::move(domain)), partial_(op_->identity(domain_)) {}
    Partial& partial() { return *partial_; }
    const Partial& partial() const { return *partial_; }
    void merge(const HeldPartial& other) {
        if (!is_like(other)) {
            throw InvalidArgument(
                Problem{"the partials do not fit together", described(other), described(*this),
                        "Merge partials of one operator that identity() made for one region"});
        }
        partial_->merge(*other.partial_);
    }

  private:
    bool is_like(const HeldPartial& other) const {
        const Partial& mine = *partial_;
        const Partial& others = *other.partial_;
        return typeid(mine) == typeid(others) &&
               (op_ == other.op_ || op_->describe() == other.op_->describe()) &&
               domain_.selection == other.domain_.selection && domain_.over == other.domain_.over &&
               domain_.dtypes == other.domain_.dtypes;
    }
    static std::string described(const HeldPartial& held) {
        return text(held.op_->describe(), " over ", held.domain_.selection);
    }

    OperatorPtr op_;
    Domain domain_;
    std::unique_ptr<Partial> partial_;
};

HeldPartial& to_partial(nb::handle object) {
    return to_bound<HeldPartial>(object, "the partial", "what identity() of an operator returned");
}

const nb::bytes to_encoded(nb::handle object) {
    if (!nb::isinstance<nb::bytes>(object)) {
        throw_wrong_type("the encoded state", object, "the bytes that encode() returned");
    }
    return nb::borrow<nb::bytes>(object);
}

void absorb(HeldPartial& held, nb::handle arrays, nb::handle offset, nb::handle weights,
            nb::handle mask) {
    const BorrowedPiece borrowed(arrays, offset, weights, mask);
    const nb::gil_scoped_release release;
    held.partial().absorb(borrowed.piece());
}

void bind_partial(nb::module_& m) {
    nb::class_<HeldPartial>(m, "Partial",
                            "The state of a reduction: what absorbs chunks, merges and travels.")
        .def("absorb", &absorb, "arrays"_a, "offset"_a = nb::none(), "weights"_a = nb::none(),
             "mask"_a = nb::none(),
             "Absorb one chunk: a list of arrays of equal shape whose first element is at "
             "`offset`.")
        .def(
            "merge", [](HeldPartial& self, nb::handle other) { self.merge(to_partial(other)); },
            "other"_a.none())
        .def("encode", [](const HeldPartial& self) { return to_bytes(self.partial().encode()); })
        .def(
            "decode",
            [](HeldPartial& self, nb::handle encoded) {
                self.partial().decode(to_span(to_encoded(encoded)));
            },
            "encoded"_a.none())
        .def("finish", [](const HeldPartial& self) { return to_numpy(self.partial().finish()); });
}

void bind_operator(nb::module_& m) {
    nb::class_<Operator>(m, "Operator", "Base of the operators whose kernels are C++.")
        .def_prop_ro("name", &Operator::name)
        .def_prop_ro("inputs", &Operator::inputs, "Number of input arrays.")
        .def(
            "identity",
            [](nb::handle self, nb::handle shape, nb::handle dtypes, nb::handle over,
               nb::handle offset) {
                return new HeldPartial(nb::cast<std::shared_ptr<Operator>>(self),
                                       to_domain(shape, dtypes, over, offset));
            },
            nb::rv_policy::take_ownership, "shape"_a.none(),
            "dtypes"_a.none() = std::vector<std::string>{"float64"}, "over"_a = nb::none(),
            "offset"_a = nb::none(),
            "The state that has seen nothing, of a reduction over a region of this shape.")
        .def(
            "absorb",
            [](const Operator&, nb::handle partial, nb::handle arrays, nb::handle offset,
               nb::handle weights,
               nb::handle mask) { absorb(to_partial(partial), arrays, offset, weights, mask); },
            "partial"_a.none(), "arrays"_a.none(), "offset"_a = nb::none(),
            "weights"_a = nb::none(), "mask"_a = nb::none(), "Absorb one chunk into `partial`.")
        .def(
            "merge",
            [](const Operator&, nb::handle a, nb::handle b) { to_partial(a).merge(to_partial(b)); },
            "a"_a.none(), "b"_a.none(), "Merge `b` into `a`.")
        .def(
            "finish",
            [](nb::handle self, nb::handle partial) {
                return wrap_result(self, to_partial(partial).partial().finish());
            },
            "partial"_a.none(), "The result, as `reduce` gives it.")
        .def(
            "wrap",
            [](const Operator&, nb::handle named) -> nb::object {
                if (!nb::isinstance<nb::dict>(named)) {
                    throw_wrong_type("the result of a reduction", named, "a dict of arrays");
                }
                const auto arrays = nb::borrow<nb::dict>(named);
                if (nb::len(arrays) == 1 && arrays.contains("value")) {
                    return nb::object(arrays["value"])[nb::tuple()];
                }
                return arrays;
            },
            "arrays"_a.none(), nb::sig("def wrap(self, arrays: dict) -> object"),
            "Turn the named arrays of a finished reduction into what the user gets.");
    nb::class_<Builtin, Operator>(m, "Builtin",
                                  "An operator of the registry, or made of functions.")
        .def(nb::init<const std::string&, const nb::dict&>(), "name"_a, "options"_a)
        .def(
            "__init__",
            [](Builtin* self, nb::object function, nb::handle op, int inputs, nb::object dtype,
               const std::string& declared) {
                new (self) Builtin(python_apply(std::move(function), to_operator(op), inputs,
                                                std::move(dtype), declared));
            },
            nb::kw_only(), "function"_a, "op"_a, "inputs"_a, "dtype"_a.none(), "declared"_a)
        .def(
            "__init__",
            [](Builtin* self, std::uintptr_t address, const std::string& dtype,
               std::uintptr_t datatype, const std::string& declared) {
                const auto function = reinterpret_cast<compute::MPIUserFunction>(address);
                new (self) Builtin(compute::make_mpi_operator(function, dtype_from_name(dtype),
                                                              datatype, declared));
            },
            nb::kw_only(), "address"_a, "dtype"_a, "datatype"_a, "declared"_a);
}

}  // namespace

OperatorPtr to_operator(nb::handle object) {
    if (nb::isinstance<nb::str>(object)) {
        return compute::make_operator(nb::cast<std::string>(object));
    }
    if (nb::isinstance<Operator>(object)) {
        return nb::cast<std::shared_ptr<Operator>>(object);
    }
    for (const char* method : {"identity", "absorb", "merge", "finish"}) {
        if (!nb::hasattr(object, method)) {
            throw WrongType(Problem{
                "not an operator", shown(object),
                "a name such as 'mean', an operator of fluvial.ops, or an object with "
                "identity, absorb, merge and finish",
                nb::isinstance<nb::type_object>(object) ? "Call the class first: Mean()" : ""});
        }
    }
    return python_operator(nb::borrow(object));
}

nb::object wrap_result(nb::handle object, const compute::Result& result) {
    const nb::dict arrays = to_numpy(result);
    if (nb::hasattr(object, "wrap")) {
        return object.attr("wrap")(arrays);
    }
    return nb::module_::import_("fluvial.ops").attr("wrap")(object, arrays);
}

}  // namespace fluvial::python

void bind_compute(nanobind::module_& m) {
    using namespace fluvial::python;
    bind_partial(m);
    bind_operator(m);
    bind_reduction(m);
    bind_terms(m);
    m.def(
        "operator_names",
        [] {
            std::vector<std::string> names;
            for (const auto& entry : fluvial::compute::registrations()) {
                names.emplace_back(entry.name);
            }
            return names;
        },
        "Names in the registry, those that need options included.");
    m.def(
        "dtype_name",
        [](nb::handle array) { return std::string(name_of(BorrowedArray(array).view().dtype)); },
        "array"_a,
        "Fluvial's name of an array's dtype. Throws InvalidArgument for one that it does not "
        "have.");
    m.def(
        "kernel_isa", [] { return std::string(fluvial::compute::kernels().isa); },
        "The instruction set of the kernels in use: 'portable', 'avx2' or 'avx512'.");
}
