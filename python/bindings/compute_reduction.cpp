// SPDX-License-Identifier: Apache-2.0
/// Reductions of several operators, and what ranks say to each other before one.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "compute_pieces.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/compute/merge_states.hpp"

using namespace nanobind::literals;

namespace fluvial::python {

using compute::Reduction;

std::vector<Reduction::Entry> to_entries(nb::handle entries) {
    std::vector<Reduction::Entry> list;
    for (const nb::handle entry : entries) {
        list.push_back({to_text(entry[0], "the name of a result"), to_operator(entry[1]),
                        nb::cast<std::vector<int>>(entry[2])});
    }
    return list;
}

/// What ranks compare, for callers that exchange it themselves.
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

}  // namespace fluvial::python
