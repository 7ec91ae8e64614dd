// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/structure_factor.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/reduction.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

using Complex = std::complex<double>;
constexpr Vector3 box{7.3, 5.1, 11.9};
const TestSeed seed(20170726);

struct Atoms {
    std::vector<double> r[3];
    std::vector<double> weights;
    Index size() const { return static_cast<Index>(r[0].size()); }
};

Atoms random_atoms(Index count, const Vector3& edges = box) {
    std::mt19937_64 random(seed);
    Atoms atoms;
    for (std::size_t a = 0; a < 3; ++a) {
        std::uniform_real_distribution<double> position(-edges[a], 2 * edges[a]);
        for (Index i = 0; i < count; ++i) {
            atoms.r[a].push_back(position(random));
        }
    }
    std::uniform_real_distribution<double> weight(-0.5, 2);
    for (Index i = 0; i < count; ++i) {
        atoms.weights.push_back(weight(random));
    }
    return atoms;
}

std::unique_ptr<Partial> identity(const Operator& op, Index count) {
    return op.identity(
        make_domain({{0}, {count}}, {}, {DType::Float64, DType::Float64, DType::Float64}));
}

void absorb(Partial& partial, const Atoms& atoms, Index from, Index to, bool weighted = false) {
    const Coordinates extent{to - from};
    const ArrayView inputs[3] = {{atoms.r[0].data() + from, DType::Float64, extent},
                                 {atoms.r[1].data() + from, DType::Float64, extent},
                                 {atoms.r[2].data() + from, DType::Float64, extent}};
    const ArrayView weights(atoms.weights.data() + from, DType::Float64, extent);
    partial.absorb({inputs, {{from}, extent}, weighted ? &weights : nullptr, nullptr});
}

Result reduce(const StructureFactor& op, const Atoms& atoms, bool weighted = false) {
    auto partial = identity(op, atoms.size());
    absorb(*partial, atoms, 0, atoms.size(), weighted);
    return partial->finish();
}

Complex directly(const Vector3& q, const Atoms& atoms, bool weighted = false) {
    std::complex<long double> sum = 0;
    for (std::size_t j = 0; j < atoms.r[0].size(); ++j) {
        const long double phase = static_cast<long double>(q[0]) * atoms.r[0][j] +
                                  static_cast<long double>(q[1]) * atoms.r[1][j] +
                                  static_cast<long double>(q[2]) * atoms.r[2][j];
        sum +=
            std::polar(1.0L, phase) * static_cast<long double>(weighted ? atoms.weights[j] : 1.0);
    }
    return {static_cast<double>(sum.real()), static_cast<double>(sum.imag())};
}

/// Largest deviation of the amplitudes from direct evaluation, relative to the number of atoms.
double worst_error(const StructureFactor& op, const Atoms& atoms, std::size_t every,
                   bool weighted = false) {
    const Result result = reduce(op, atoms, weighted);
    const auto* amplitude = result.at("amplitude").as<Complex>();
    double worst = 0;
    for (std::size_t i = 0; i < op.size(); i += every) {
        worst = std::max(worst, std::abs(amplitude[i] - directly(op.q()[i], atoms, weighted)));
    }
    return worst / static_cast<double>(atoms.size());
}

StructureFactorOptions with(const char* kernel, Precision precision = Precision::Float64) {
    StructureFactorOptions options;
    options.kernel = kernel;
    options.precision = precision;
    return options;
}

}  // namespace

TEST_CASE("every kernel agrees with direct evaluation") {
    const Atoms atoms = random_atoms(301);  // two whole blocks and a part of one
    for (const auto& kernel : structure_factor_kernels()) {
        CAPTURE(kernel.name);
        const auto options = with(kernel.name);
        CHECK(worst_error(StructureFactor::sphere(box, 9.0, {1, 1, 1}, options), atoms, 1) < 1e-9);
        CHECK(worst_error(StructureFactor::sphere(box, 9.0, {2, 1, 3}, options), atoms, 1, true) <
              1e-9);
        CHECK(worst_error(StructureFactor::detector(box, {9, 14}, {2, 1}, {1, 2, 1}, options),
                          atoms, 1) < 1e-9);
        CHECK(worst_error(StructureFactor::plane({0.3, 0.1, -0.2}, {0, 1, 0.7}, {17, 4}, options),
                          atoms, 1) < 1e-9);
        CHECK(worst_error(StructureFactor::at({{0, 0, 0}, {3, -2, 1}, {-80, 90, 4}}, options),
                          atoms, 1) < 1e-9);
    }
}

TEST_CASE("high indices stay accurate: the powers are products of up to 100 factors") {
    const Atoms atoms = random_atoms(40, {10, 10, 10});
    const Vector3 cube{10, 10, 10};
    const double step = 2 * std::numbers::pi / 10;
    for (const auto& kernel : structure_factor_kernels()) {
        CAPTURE(kernel.name);
        const auto image = StructureFactor::detector(cube, {100 * step, 100 * step}, {0, 2},
                                                     {1, 1, 1}, with(kernel.name));
        CHECK(image.size() == (201 * 201 + 1) / 2);
        CHECK(worst_error(image, atoms, 97) < 1e-9);
        const auto coarse =
            StructureFactor::sphere(cube, 101 * step, {10, 10, 1}, with(kernel.name));
        CHECK(worst_error(coarse, atoms, 7) < 1e-9);
    }
}

TEST_CASE("float32 products stay within 1e-6 of the sum of weights") {
    const Atoms atoms = random_atoms(3000);
    for (const auto& kernel : structure_factor_kernels()) {
        CAPTURE(kernel.name);
        const auto op =
            StructureFactor::sphere(box, 8.0, {1, 1, 1}, with(kernel.name, Precision::Float32));
        const double error = worst_error(op, atoms, 11);
        CHECK(error < 1e-6);
        CHECK(error > 1e-12);  // or it was not float32 that ran
    }
}

TEST_CASE("a perfect fcc crystal has S = N at its Bragg peaks and nothing elsewhere") {
    constexpr int cells = 4;
    Atoms atoms;
    const double basis[4][3] = {{0, 0, 0}, {0.5, 0.5, 0}, {0.5, 0, 0.5}, {0, 0.5, 0.5}};
    for (int cell = 0; cell < cells * cells * cells; ++cell) {
        const int corner[3] = {cell / (cells * cells), cell / cells % cells, cell % cells};
        for (const auto& atom : basis) {
            for (int a = 0; a < 3; ++a) {
                atoms.r[a].push_back(1.7 * (corner[a] + atom[a]));
            }
        }
    }
    const double edge = 1.7 * cells;
    for (const Precision precision : {Precision::Float64, Precision::Float32}) {
        const double tolerance = precision == Precision::Float64 ? 1e-9 : 1e-5;
        const auto op =
            StructureFactor::sphere({edge, edge, edge}, 12.0, {1, 1, 1}, with("", precision));
        const Result result = reduce(op, atoms);
        const double n = static_cast<double>(atoms.size());
        int peaks = 0;
        for (std::size_t i = 0; i < op.size(); ++i) {
            const auto [h, k, l] = op.hkl()[i];
            const bool on_cell = h % cells == 0 && k % cells == 0 && l % cells == 0;
            const bool unmixed =
                (h / cells - k / cells) % 2 == 0 && (k / cells - l / cells) % 2 == 0;
            const double expected = on_cell && unmixed ? n : 0;
            peaks += expected > 0;
            CHECK(std::abs(result.at("value").as<double>()[i] - expected) < tolerance * n);
        }
        CHECK(peaks > 10);
    }
}

TEST_CASE("an ideal gas has S = 1 on average") {
    const Atoms atoms = random_atoms(1000);
    const auto op = StructureFactor::sphere(box, 14.0);
    const Result result = reduce(op, atoms);
    double mean = 0;
    for (std::size_t i = 0; i < op.size(); ++i) {
        mean += result.at("value").as<double>()[i];
    }
    mean /= static_cast<double>(op.size());
    // S is exponentially distributed with variance 1: five standard errors.
    CHECK(std::abs(mean - 1) < 5 / std::sqrt(static_cast<double>(op.size())));
}

TEST_CASE("any split, merged in any order, equals the whole") {
    const Atoms atoms = random_atoms(500);
    const StructureFactor ops[] = {StructureFactor::sphere(box, 5.0),
                                   StructureFactor::detector(box, {9, 9}),
                                   StructureFactor::at({{1, 2, 3}, {-4, 0.5, 0}})};
    for (const StructureFactor& op : ops) {
        const Result whole = reduce(op, atoms, true);
        std::vector<std::unique_ptr<Partial>> partials;
        for (const auto& [from, to] :
             {std::pair<Index, Index>{333, 500}, {0, 1}, {1, 1}, {1, 150}, {150, 333}}) {
            partials.push_back(identity(op, atoms.size()));
            absorb(*partials.back(), atoms, from, to, true);
        }
        auto left = identity(op, atoms.size());
        for (const std::size_t i : {4, 0, 2}) {
            left->merge(*partials[i]);
        }
        partials[1]->merge(*partials[3]);
        auto travelled = identity(op, atoms.size());
        travelled->decode(partials[1]->encode());
        left->merge(*travelled);
        const Result merged = left->finish();
        for (std::size_t i = 0; i < op.size(); ++i) {
            const Complex difference =
                merged.at("amplitude").as<Complex>()[i] - whole.at("amplitude").as<Complex>()[i];
            CHECK(std::abs(difference) < 1e-12 * static_cast<double>(atoms.size()));
        }
        CHECK(*merged.at("n_atoms").as<std::int64_t>() == 500);
        CHECK(*merged.at("sum_w").as<double>() ==
              doctest::Approx(*whole.at("sum_w").as<double>()).epsilon(1e-12));
        CHECK(*merged.at("sum_w2").as<double>() ==
              doctest::Approx(*whole.at("sum_w2").as<double>()).epsilon(1e-12));
    }
}

TEST_CASE("strided float32 inputs and masks give what a packed copy of the same atoms gives") {
    const Atoms atoms = random_atoms(400);
    std::vector<float> interleaved;
    std::vector<std::uint8_t> mask;
    Atoms kept;
    for (std::size_t i = 0; i < 400; ++i) {
        for (int a = 0; a < 3; ++a) {
            interleaved.push_back(static_cast<float>(atoms.r[a][i]));
        }
    }
    for (std::size_t i = 0; i < 400; ++i) {
        mask.push_back(i % 3 == 0 ? 0 : 7);
        if (mask.back() == 0) {
            continue;
        }
        // Backwards: the view below has a negative stride.
        for (std::size_t a = 0; a < 3; ++a) {
            kept.r[a].push_back(interleaved[3 * (399 - i) + a]);
        }
    }
    interleaved[3 * 399] = std::numeric_limits<float>::quiet_NaN();  // masked: must not matter
    const auto op = StructureFactor::sphere(box, 6.0);
    auto partial = op.identity(
        make_domain({{0}, {400}}, {}, {DType::Float32, DType::Float32, DType::Float32}));
    const ArrayView inputs[3] = {{interleaved.data() + 3 * 399, DType::Float32, {400}, {-12}},
                                 {interleaved.data() + 3 * 399 + 1, DType::Float32, {400}, {-12}},
                                 {interleaved.data() + 3 * 399 + 2, DType::Float32, {400}, {-12}}};
    const ArrayView mask_view(mask.data(), DType::UInt8, {400});
    partial->absorb({inputs, {{0}, {400}}, nullptr, &mask_view});
    const Result result = partial->finish();
    const Result expected = reduce(op, kept);
    CHECK(*result.at("n_atoms").as<std::int64_t>() == kept.size());
    for (std::size_t i = 0; i < op.size(); ++i) {
        CHECK(std::abs(result.at("amplitude").as<Complex>()[i] -
                       expected.at("amplitude").as<Complex>()[i]) < 1e-10);
    }
}

TEST_CASE("periodic images scatter alike") {
    const Atoms atoms = random_atoms(100);
    Atoms moved = atoms;
    for (std::size_t i = 0; i < 100; ++i) {
        for (std::size_t a = 0; a < 3; ++a) {
            moved.r[a][i] += (static_cast<int>((i * 7 + a * 3) % 11) - 5) * box[a];
        }
    }
    const auto op = StructureFactor::sphere(box, 8.0);
    const Result here = reduce(op, atoms);
    const Result there = reduce(op, moved);
    for (std::size_t i = 0; i < op.size(); ++i) {
        CHECK(std::abs(here.at("amplitude").as<Complex>()[i] -
                       there.at("amplitude").as<Complex>()[i]) < 1e-9);
    }
}

TEST_CASE("no atoms give NaN, and a position that is not finite is not hidden") {
    const auto op = StructureFactor::sphere(box, 3.0);
    CHECK(std::isnan(identity(op, 10)->finish().at("value").as<double>()[0]));
    Atoms atoms = random_atoms(20);
    auto partial = identity(op, 20);
    absorb(*partial, atoms, 0, 20);
    CHECK_FALSE(std::isnan(partial->finish().at("value").as<double>()[0]));
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        atoms.r[1][3] = bad;
        CHECK(std::isnan(reduce(op, atoms).at("value").as<double>()[op.size() - 1]));
    }
}

TEST_CASE("swapped positions give the same bits") {
    const auto op = std::make_shared<StructureFactor>(StructureFactor::sphere(box, 3.0));
    const Atoms atoms = random_atoms(301);
    std::vector<double> swapped[3];
    ArrayView inputs[3];
    for (std::size_t a = 0; a < 3; ++a) {
        for (const double r : atoms.r[a]) {
            std::uint64_t word;
            std::memcpy(&word, &r, sizeof word);
            word = __builtin_bswap64(word);
            double there;
            std::memcpy(&there, &word, sizeof there);
            swapped[a].push_back(there);
        }
        inputs[a] = ArrayView(swapped[a].data(), DType::Float64, {atoms.size()});
        inputs[a].swapped = true;
    }
    Reduction reduction(
        {{"f", op, {}}},
        make_domain({{0}, {atoms.size()}}, {}, {DType::Float64, DType::Float64, DType::Float64}));
    reduction.absorb({inputs, {{0}, {atoms.size()}}});
    CHECK(reduction.finish().at("f").at("amplitude").bytes ==
          reduce(*op, atoms).at("amplitude").bytes);
}

TEST_CASE("domains that are not lists of particles are refused") {
    const auto op = StructureFactor::sphere(box, 3.0);
    using enum DType;
    CHECK_THROWS_AS(op.identity(make_domain({{0}, {4}}, {}, {Float64, Float64})), InvalidArgument);
    CHECK_THROWS_AS(op.identity(make_domain({{0}, {4}}, {}, {Float64, Int32, Float64})),
                    InvalidArgument);
    CHECK_THROWS_AS(op.identity(make_domain({{0, 0}, {4, 4}}, {1}, {Float64, Float64, Float64})),
                    InvalidArgument);
    const auto partial = identity(op, 4);
    CHECK_THROWS_AS(partial->decode(identity(StructureFactor::sphere(box, 4.0), 4)->encode()),
                    Error);
    CHECK_THROWS_AS(partial->decode(std::vector<std::byte>(5)), Error);
}
