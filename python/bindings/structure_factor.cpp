// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor.hpp"

#include <cstring>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using fluvial::InvalidArgument;
using fluvial::Problem;
using fluvial::compute::Camera;
using fluvial::compute::Precision;
using fluvial::compute::StructureFactor;
using fluvial::compute::StructureFactorOptions;
using fluvial::compute::Vector3;

/// A read-only NumPy view of a table of triples that the operator owns.
template <class T>
nb::ndarray<nb::numpy, const T, nb::shape<-1, 3>> view_triples(
    const std::vector<std::array<T, 3>>& rows) {
    return {rows.data(), {rows.size(), 3}};
}

/// Species, a, b and c.
using Factors =
    std::vector<std::tuple<std::int64_t, std::vector<double>, std::vector<double>, double>>;

StructureFactorOptions make_options(const std::string& precision, double bytes_max,
                                    const std::string& kernel, const Factors& factors) {
    StructureFactorOptions options;
    for (const auto& [species, a, b, c] : factors) {
        options.form_factors.push_back({species, {a, b, c}});
    }
    if (precision == "float32") {
        options.precision = Precision::Float32;
    } else if (precision != "float64") {
        throw InvalidArgument(Problem{"structure factor: unknown precision", "'" + precision + "'",
                                      "'float64', 'float32'", "Leave it out for float64"});
    }
    options.bytes_max = bytes_max;
    options.kernel = kernel;
    return options;
}

/// Runs `make` without the GIL and puts what it returns into the Python object at `self`.
template <class Make>
void construct(StructureFactor* self, Make&& make) {
    const nb::gil_scoped_release release;
    new (self) StructureFactor(make());
}

}  // namespace

/// fluvial._core.StructureFactor: four constructors, told apart by their arguments' names. The
/// Python class fluvial.ops.StructureFactor derives from it. fluvial._core.Operator must be bound
/// before.
void bind_structure_factor(nb::module_& m) {
    using Index3 = std::array<int, 3>;
    using Index2 = std::array<int, 2>;
    using Pair = std::array<double, 2>;
    using Listed = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

    nb::class_<StructureFactor, fluvial::compute::Operator>(m, "StructureFactor")
        .def(
            "__init__",
            [](StructureFactor* self, const Vector3& box, double q_max, const Index3& stride,
               const std::string& precision, double bytes_max, const std::string& kernel,
               const Factors& form_factors) {
                const auto options = make_options(precision, bytes_max, kernel, form_factors);
                construct(self,
                          [&] { return StructureFactor::sphere(box, q_max, stride, options); });
            },
            nb::kw_only(), "box"_a, "q_max"_a, "stride"_a, "precision"_a, "bytes_max"_a, "kernel"_a,
            "form_factors"_a)
        .def(
            "__init__",
            [](StructureFactor* self, const Vector3& box, const Pair& sides, const Index2& axes,
               const Index3& stride, const std::string& precision, double bytes_max,
               const std::string& kernel, const Factors& form_factors) {
                const auto options = make_options(precision, bytes_max, kernel, form_factors);
                construct(self, [&] {
                    return StructureFactor::detector(box, sides, axes, stride, options);
                });
            },
            nb::kw_only(), "box"_a, "sides"_a, "axes"_a, "stride"_a, "precision"_a, "bytes_max"_a,
            "kernel"_a, "form_factors"_a)
        .def(
            "__init__",
            [](StructureFactor* self, const Vector3& a, const Vector3& b, const Index2& counts,
               const std::string& precision, double bytes_max, const std::string& kernel,
               const Factors& form_factors) {
                const auto options = make_options(precision, bytes_max, kernel, form_factors);
                construct(self, [&] { return StructureFactor::plane(a, b, counts, options); });
            },
            nb::kw_only(), "a"_a, "b"_a, "counts"_a, "precision"_a, "bytes_max"_a, "kernel"_a,
            "form_factors"_a)
        .def(
            "__init__",
            [](StructureFactor* self, Listed q, double bytes_max, const std::string& kernel,
               const Factors& form_factors) {
                std::vector<Vector3> listed(q.shape(0));
                if (!listed.empty()) {
                    std::memcpy(listed.data(), q.data(), listed.size() * sizeof(Vector3));
                }
                const auto options = make_options("float64", bytes_max, kernel, form_factors);
                construct(self, [&] { return StructureFactor::at(std::move(listed), options); });
            },
            nb::kw_only(), "q"_a, "bytes_max"_a, "kernel"_a, "form_factors"_a)
        .def(
            "__init__",
            [](StructureFactor* self, double wavelength, double distance, const Index2& pixels,
               const Pair& pixel, const Pair& beam_at, const Vector3& beam,
               const std::array<Vector3, 2>& sides, double bytes_max, const std::string& kernel,
               const Factors& form_factors) {
                const Camera camera{wavelength, distance, pixels, pixel, beam_at, beam, sides};
                const auto options = make_options("float64", bytes_max, kernel, form_factors);
                construct(self, [&] { return StructureFactor::camera(camera, options); });
            },
            nb::kw_only(), "wavelength"_a, "distance"_a, "pixels"_a, "pixel"_a, "beam_at"_a,
            "beam"_a, "sides"_a, "bytes_max"_a, "kernel"_a, "form_factors"_a)
        .def("__len__", &StructureFactor::size)
        .def_prop_ro(
            "q", [](const StructureFactor& op) { return view_triples(op.q()); },
            "The q vectors, (Q, 3) float64, in the inverse of the positions' unit of length.")
        .def_prop_ro(
            "hkl", [](const StructureFactor& op) { return view_triples(op.hkl()); },
            "Their indices, (Q, 3) int32; (0, 3) for listed vectors.")
        .def_prop_ro(
            "kernel", [](const StructureFactor& op) { return std::string(op.kernel().name); },
            "The instruction set in use: 'avx512', 'avx2' or 'portable'.");
}
