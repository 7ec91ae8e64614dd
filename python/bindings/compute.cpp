// SPDX-License-Identifier: Apache-2.0
#include "compute.hpp"

#include <typeinfo>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "fluvial/base/terms.hpp"
#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/merge_states.hpp"
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
using compute::Piece;
using compute::Reduction;

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

/// One call's arrays, pinned, as a piece.
class BorrowedPiece {
  public:
    BorrowedPiece(nb::handle arrays, nb::handle offset, nb::handle weights, nb::handle mask) {
        if (PySequence_Check(arrays.ptr()) == 0 || PyUnicode_Check(arrays.ptr()) ||
            PyBytes_Check(arrays.ptr())) {
            throw_wrong_type("the input of an operator", arrays, "a list of arrays, one an input");
        }
        for (const nb::handle array : arrays) {
            arrays_.emplace_back(array);
            views_.push_back(arrays_.back().view());
        }
        if (views_.empty()) {
            throw InvalidArgument(
                Problem{"no input arrays", "an empty list", "one array an input", ""});
        }
        piece_.inputs = views_;
        const Coordinates& extent = views_.front().extent;
        piece_.where = {
            offset.is_none() ? Coordinates(extent.size(), 0) : to_coordinates(offset, "offset"),
            extent};
        piece_.weights = companion(weights, weights_);
        piece_.mask = companion(mask, mask_);
    }
    const Piece& piece() const { return piece_; }

  private:
    static const ArrayView* companion(nb::handle object, std::optional<BorrowedArray>& held) {
        if (object.is_none()) {
            return nullptr;
        }
        held.emplace(object);
        return &held->view();
    }

    std::vector<BorrowedArray> arrays_;
    std::vector<ArrayView> views_;
    std::optional<BorrowedArray> weights_, mask_;
    Piece piece_;
};

/// Axes by number: one, several, or None for all.
std::vector<int> to_axes(nb::handle over) {
    std::vector<int> axes;
    if (over.is_none()) {
        return axes;
    }
    const nb::object several = PySequence_Check(over.ptr()) != 0 && !nb::isinstance<nb::str>(over)
                                   ? nb::borrow(over)
                                   : nb::make_tuple(nb::borrow(over));
    for (const nb::handle axis : several) {
        const Index number = to_int(axis, "an axis to reduce over");
        if (number < -ndim_max || number >= ndim_max) {
            throw OutOfBounds(Problem{"axis to reduce over is out of range", text(number),
                                      text(-ndim_max, " to ", ndim_max - 1), ""});
        }
        axes.push_back(static_cast<int>(number));
    }
    return axes;
}

Domain to_domain(nb::handle shape, nb::handle dtypes, nb::handle over, nb::handle offset) {
    const Coordinates extent = to_coordinates(shape, "shape");
    volume_of(extent);  // refuses what is negative or too large
    std::vector<DType> types;
    if (nb::isinstance<nb::str>(dtypes)) {
        types.push_back(dtype_from_name(to_text(dtypes, "dtypes")));
    } else {
        for (const std::string& name :
             to<std::vector<std::string>>(dtypes, "dtypes", "a list of names, such as 'float64'")) {
            types.push_back(dtype_from_name(name));
        }
    }
    const Coordinates begin =
        offset.is_none() ? Coordinates(extent.size(), 0) : to_coordinates(offset, "offset");
    if (begin.size() != extent.size()) {
        throw InvalidArgument(Problem{"offset and shape differ in their dimensions", text(begin),
                                      text(extent.size(), " entries, for shape ", extent), ""});
    }
    return compute::make_domain({begin, extent}, to_axes(over), std::move(types));
}

nb::bytes to_bytes(const std::vector<std::byte>& bytes) {
    return nb::bytes(bytes.data(), bytes.size());
}

std::span<const std::byte> to_span(const nb::bytes& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
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

/// (name, operator, list of input numbers) of each.
std::vector<Reduction::Entry> to_entries(nb::handle entries) {
    std::vector<Reduction::Entry> list;
    for (const nb::handle entry : entries) {
        list.push_back({to_text(entry[0], "the name of a result"), to_operator(entry[1]),
                        nb::cast<std::vector<int>>(entry[2])});
    }
    return list;
}

/// What ranks compare, for those that exchange it themselves.
void bind_terms(nb::module_& m) {
    nb::class_<Terms>(m, "Terms", "What ranks that work together must say alike, in words.")
        .def(nb::init<>())
        .def(
            "add",
            [](Terms& self, std::string what, std::string value) {
                self.add(std::move(what), std::move(value));
            },
            "what"_a, "value"_a)
        .def(
            "add_entries",
            [](Terms& self, nb::handle entries) { compute::add_terms(to_entries(entries), self); },
            "entries"_a, "`entries`: (name, operator, list of input numbers).")
        .def_prop_ro("number", [](const Terms& self) { return number_of(self.of_all()); })
        .def("encode", [](const Terms& self) { return to_bytes(self.encode()); });
    m.def(
        "check_alike",
        [](const std::vector<nb::bytes>& by_rank) {
            std::vector<Terms> terms;
            for (const nb::bytes& encoded : by_rank) {
                terms.push_back(Terms::decode(to_span(encoded)));
            }
            check_alike(terms);
        },
        "by_rank"_a, "Raise InvalidArgument for the first thing in which encoded terms differ.");
    m.def(
        "declared_by",
        [](nb::handle object, nb::handle name, nb::handle version) {
            return declared_by(object, name, version);
        },
        "object"_a.none(), "name"_a = nb::none(), "version"_a = nb::none(),
        "What ranks know a function or an operator of the user's by: its name and version.");
}

void bind_reduction(nb::module_& m) {
    nb::class_<Reduction>(m, "Reduction", "Several operators over the same arrays in one pass.")
        .def(
            "__init__",
            [](Reduction* self, nb::handle entries, nb::handle shape, nb::handle dtypes,
               nb::handle over, nb::handle offset) {
                new (self) Reduction(to_entries(entries), to_domain(shape, dtypes, over, offset));
            },
            "entries"_a, "shape"_a, "dtypes"_a, "over"_a = nb::none(), "offset"_a = nb::none(),
            "`entries`: (name, operator, list of input numbers).")
        .def(
            "absorb",
            [](Reduction& self, nb::handle arrays, nb::handle offset, nb::handle weights,
               nb::handle mask) {
                const BorrowedPiece borrowed(arrays, offset, weights, mask);
                const nb::gil_scoped_release release;
                self.absorb(borrowed.piece());
            },
            "arrays"_a, "offset"_a = nb::none(), "weights"_a = nb::none(), "mask"_a = nb::none())
        .def("encode", [](const Reduction& self) { return to_bytes(self.encode()); })
        .def(
            "merge_encoded",
            [](Reduction& self, const nb::bytes& bytes) { self.merge_encoded(to_span(bytes)); },
            "encoded"_a)
        .def(
            "merge_states",
            [](const Reduction& self, const nb::bytes& a, const nb::bytes& b) {
                const auto fresh = [&] { return Reduction(self.entries(), self.domain()); };
                return to_bytes(compute::merge_states(fresh, to_span(a), to_span(b)));
            },
            "a"_a, "b"_a,
            "Two states of reductions like this one, which itself does not change, as one.")
        .def("finish", [](const Reduction& self) {
            nb::dict out;
            for (const auto& [name, result] : self.finish()) {
                out[name.c_str()] = to_numpy(result);
            }
            return out;
        });
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
