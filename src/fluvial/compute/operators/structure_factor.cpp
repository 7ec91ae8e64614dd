// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "fluvial/base/terms.hpp"
#include "fluvial/compute/kernels/kernels.hpp"
#include "fluvial/compute/operators/structure_factor_partial.hpp"

namespace fluvial::compute {
namespace {

using Setup = StructureFactor::Setup;

/// Amplitude, sums of one piece, q, hkl, and their copies in the result.
constexpr double bytes_a_vector = 128;

std::string show(const Vector3& v) {
    return text("(", v[0], ", ", v[1], ", ", v[2], ")");
}

void check_memory(double vectors, double bytes_max) {
    if (const double bytes = vectors * bytes_a_vector; !(bytes <= bytes_max)) {
        throw InvalidArgument(Problem{"structure factor: too many q vectors",
                                      text("about ", vectors, " vectors, ", bytes, " bytes"),
                                      text("at most ", bytes_max, " bytes"),
                                      "Lower q_max, raise stride, or raise bytes_max"});
    }
}

std::array<Vector3, 3> reciprocal_basis(const Vector3& box, const std::array<int, 3>& stride) {
    std::array<Vector3, 3> basis{};
    for (std::size_t a = 0; a < 3; ++a) {
        if (!(box[a] > 0) || !std::isfinite(box[a])) {
            throw InvalidArgument(
                Problem{"structure factor: a box length is not positive", show(box),
                        "three finite lengths above 0",
                        "Pass the edge lengths of the periodic box, e.g. high - low"});
        }
        if (stride[a] < 1) {
            throw InvalidArgument(Problem{"structure factor: stride is out of range",
                                          text(stride[a]), "1 or more",
                                          "Pass 1 for every reciprocal lattice vector"});
        }
        basis[a][a] = 2 * std::numbers::pi * stride[a] / box[a];
    }
    return basis;
}

void check_q_max(double q_max) {
    if (!(q_max > 0) || !std::isfinite(q_max)) {
        throw InvalidArgument(
            Problem{"structure factor: q_max is out of range", text(q_max), "finite and above 0",
                    "Pass the largest |q| wanted, in the inverse of the positions' unit"});
    }
}

StructureFactorKernel find_kernel(const std::string& name) {
    const std::string_view wanted = name.empty() ? kernels().isa : std::string_view(name);
    std::string names;
    for (const auto& kernel : structure_factor_kernels()) {
        if (wanted == kernel.name) {
            return kernel;
        }
        names += (names.empty() ? "" : ", ") + std::string(kernel.name);
    }
    throw InvalidArgument(Problem{"structure factor: this CPU has no such kernel", "'" + name + "'",
                                  names, "Leave kernel empty to take the fastest"});
}

std::shared_ptr<Setup> make_setup(const StructureFactorOptions& options) {
    check_form_factors(options.form_factors);
    auto setup = std::make_shared<Setup>();
    setup->kernel = find_kernel(options.kernel);
    setup->form_factors = options.form_factors;
    setup->precision = options.precision;
    setup->lanes =
        options.precision == Precision::Float32 ? setup->kernel.lanes32 : setup->kernel.lanes64;
    return setup;
}

/// The q vectors are what all constructors come to: the same ones, the same operator.
void describe_q(Setup& setup) {
    const auto numbers = std::span<const double>(setup.q.data()->data(), 3 * setup.q.size());
    setup.description = text(
        "structure_factor(q=", exact(numbers), ", on a lattice=", exact(setup.lattice.has_value()),
        ", precision=", setup.precision == Precision::Float32 ? "float32" : "float64");
    for (const auto& [species, factor] : setup.form_factors) {
        setup.description += text(", f", species, "=", exact(std::span<const double>(factor.a)),
                                  exact(std::span<const double>(factor.b)), exact(factor.c));
    }
    setup.description += ")";
}

/// `units` are the basis of the indices that `hkl` shows; `scale` turns lattice indices into those.
std::shared_ptr<const Setup> lattice_setup(Lattice lattice, const std::array<Vector3, 3>& basis,
                                           const std::array<int, 3>& scale,
                                           const StructureFactorOptions& options) {
    auto setup = make_setup(options);
    setup->tiles = lattice.tiles(setup->lanes, setup->kernel.rows_a_group);
    setup->hkl = lattice.indices();
    setup->q.reserve(setup->hkl.size());
    for (auto& hkl : setup->hkl) {
        Vector3 q{};
        for (std::size_t a = 0; a < 3; ++a) {
            for (std::size_t i = 0; i < 3; ++i) {
                q[i] += hkl[a] * basis[a][i];
            }
            hkl[a] *= scale[a];
        }
        setup->q.push_back(q);
    }
    setup->lattice = std::move(lattice);
    describe_q(*setup);
    return setup;
}

}  // namespace

StructureFactor StructureFactor::sphere(const Vector3& box, double q_max,
                                        const std::array<int, 3>& stride,
                                        const StructureFactorOptions& options) {
    const auto basis = reciprocal_basis(box, stride);
    check_q_max(q_max);
    check_memory(Lattice::sphere_size(basis, q_max), options.bytes_max);
    Lattice lattice = Lattice::sphere(basis, q_max);
    if (lattice.size() == 0) {
        const double least = std::min({basis[0][0], basis[1][1], basis[2][2]});
        throw InvalidArgument(
            Problem{"structure factor: no reciprocal lattice vector is that short", text(q_max),
                    text("q_max of at least ", least, " in the box ", show(box)),
                    "Raise q_max or lower stride"});
    }
    return StructureFactor(lattice_setup(std::move(lattice), basis, stride, options));
}

StructureFactor StructureFactor::detector(const Vector3& box, const std::array<double, 2>& q_max,
                                          const std::array<int, 2>& axes,
                                          const std::array<int, 3>& stride,
                                          const StructureFactorOptions& options) {
    const auto basis = reciprocal_basis(box, stride);
    if (axes[0] == axes[1] || std::min(axes[0], axes[1]) < 0 || std::max(axes[0], axes[1]) > 2) {
        throw InvalidArgument(Problem{"structure factor: a detector plane needs two axes",
                                      text("(", axes[0], ", ", axes[1], ")"),
                                      "two different ones of 0, 1 and 2",
                                      "Pass axes=(0, 1) for the xy plane"});
    }
    std::array<Vector3, 2> spanned{};
    std::array<int, 2> count{};
    std::array<double, 2> wanted{};
    for (std::size_t i = 0; i < 2; ++i) {
        const auto axis = static_cast<std::size_t>(axes[i]);
        check_q_max(q_max[i]);
        spanned[i] = basis[axis];
        wanted[i] = std::floor(q_max[i] * (1 + 1e-12) / basis[axis][axis]);
    }
    check_memory((2 * wanted[0] + 1) * (wanted[1] + 1), options.bytes_max);
    count = {static_cast<int>(wanted[0]), static_cast<int>(wanted[1])};
    if (count[0] == 0 && count[1] == 0) {
        throw InvalidArgument(Problem{"structure factor: the detector has no q vector but 0",
                                      text("q_max (", q_max[0], ", ", q_max[1], ")"),
                                      text("at least the shortest lattice vectors, ",
                                           show(basis[axes[0]]), " and ", show(basis[axes[1]])),
                                      "Raise q_max or lower stride"});
    }
    auto setup = std::make_shared<Setup>(*lattice_setup(
        Lattice::plane(spanned, count), {spanned[0], spanned[1], Vector3{}}, {1, 1, 1}, options));
    for (auto& hkl : setup->hkl) {
        const auto in_plane = hkl;
        hkl = {0, 0, 0};
        for (std::size_t i = 0; i < 2; ++i) {
            hkl[axes[i]] = in_plane[i] * stride[axes[i]];
        }
    }
    return StructureFactor(std::move(setup));
}

StructureFactor StructureFactor::plane(const Vector3& a, const Vector3& b,
                                       const std::array<int, 2>& count,
                                       const StructureFactorOptions& options) {
    for (const Vector3& v : {a, b}) {
        if (!std::isfinite(v[0] + v[1] + v[2]) || (v[0] == 0 && v[1] == 0 && v[2] == 0)) {
            throw InvalidArgument(
                Problem{"structure factor: a vector that spans the plane is unusable", show(v),
                        "finite and not zero", "Pass the q of one pixel step along each side"});
        }
    }
    if (count[0] < 0 || count[1] < 0 || (count[0] == 0 && count[1] == 0)) {
        throw InvalidArgument(Problem{
            "structure factor: counts are out of range", text("(", count[0], ", ", count[1], ")"),
            "0 or more, not both 0", "counts=(50, 50) makes an image of 101 x 101 pixels"});
    }
    check_memory((2.0 * count[0] + 1) * (count[1] + 1.0), options.bytes_max);
    return StructureFactor(
        lattice_setup(Lattice::plane({a, b}, count), {a, b, Vector3{}}, {1, 1, 1}, options));
}

StructureFactor StructureFactor::at(std::vector<Vector3> q, const StructureFactorOptions& options) {
    if (q.empty()) {
        throw InvalidArgument(Problem{"structure factor: the list of q vectors is empty",
                                      "0 vectors", "1 or more", "Pass an array of shape (Q, 3)"});
    }
    for (const Vector3& v : q) {
        if (!std::isfinite(v[0] + v[1] + v[2])) {
            throw InvalidArgument(Problem{"structure factor: a q vector is not finite", show(v),
                                          "finite numbers", "Check the list for NaN"});
        }
    }
    check_memory(static_cast<double>(q.size()), options.bytes_max);
    auto setup = make_setup(options);
    setup->q = std::move(q);
    describe_q(*setup);
    return StructureFactor(std::move(setup));
}

StructureFactor StructureFactor::camera(const Camera& camera,
                                        const StructureFactorOptions& options) {
    check_memory(static_cast<double>(camera.pixels[0]) * camera.pixels[1], options.bytes_max);
    return at(q_of_pixels(camera), options);
}

std::unique_ptr<Partial> StructureFactor::identity(const Domain& domain) const {
    check_inputs(*this, domain);
    if (inputs() == 4 && !is_integer(domain.dtypes[3])) {
        throw InvalidArgument(Problem{"structure factor: species have an unsupported dtype",
                                      std::string(name_of(domain.dtypes[3])), "integers",
                                      "Pass x, y, z and the number of each atom's species"});
    }
    for (const DType dtype : std::span(domain.dtypes).first(3)) {
        if (dtype != DType::Float32 && dtype != DType::Float64) {
            throw InvalidArgument(Problem{"structure factor: positions have an unsupported dtype",
                                          std::string(name_of(dtype)), "float32, float64",
                                          "Convert them with astype('float64')"});
        }
    }
    if (domain.selection.ndim() != 1 || domain.over.size() != 1) {
        throw InvalidArgument(Problem{
            "structure factor: it works on lists of particles, all reduced",
            text(domain.selection.ndim(), " axes, ", domain.over.size(), " of them reduced"),
            "1-D inputs and over=(0,)", "Pass x, y and z (and species) as arrays of shape (N,)"});
    }
    return std::make_unique<StructureFactorPartial>(setup_, domain);
}

}  // namespace fluvial::compute
