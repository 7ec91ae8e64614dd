// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/form_factor.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/operators/structure_factor.hpp"
#include "fluvial/compute/reduction.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

using Complex = std::complex<double>;
constexpr Index atoms = 500;
constexpr Vector3 box{7.3, 5.1, 11.9};
const TestSeed seed(20180401);

StructureFactorOptions options() {
    StructureFactorOptions made;
    made.form_factors = {
        {7, {{2.6, 1.1, 1.5, -4.2, 0.7}, {14.8, 0.8, 42.1, -0.0003, 0.24}, 4.3}},
        {-2, {{12.3}, {5.0}, -0.3}},
        {4, {{}, {}, 2.0}},  // of which there is no atom
    };
    return made;
}

struct Crystal {
    std::vector<double> r[3], weights;
    std::vector<std::int16_t> species;

    Crystal() {
        std::mt19937_64 random(seed);
        for (std::size_t a = 0; a < 3; ++a) {
            std::uniform_real_distribution<double> place(0, box[a]);
            for (Index i = 0; i < atoms; ++i) {
                r[a].push_back(place(random));
            }
        }
        for (Index i = 0; i < atoms; ++i) {
            species.push_back(random() % 3 == 0 ? 7 : -2);
            weights.push_back(std::uniform_real_distribution<double>(0.5, 1)(random));
        }
    }
    void absorb(Partial& partial, Index from, Index to) const {
        const Coordinates extent{to - from};
        const ArrayView inputs[4] = {{r[0].data() + from, DType::Float64, extent},
                                     {r[1].data() + from, DType::Float64, extent},
                                     {r[2].data() + from, DType::Float64, extent},
                                     {species.data() + from, DType::Int16, extent}};
        const ArrayView weight(weights.data() + from, DType::Float64, extent);
        partial.absorb({inputs, {{from}, extent}, &weight, nullptr});
    }
    Complex directly(const Vector3& q, const std::vector<SpeciesFormFactor>& factors) const {
        Complex sum = 0;
        const double length = std::hypot(q[0], q[1], q[2]);
        for (std::size_t j = 0; j < species.size(); ++j) {
            const FormFactor& factor = factors[species[j] == 7 ? 0 : 1].factor;
            const double s = length / 4 / std::numbers::pi;
            double f = factor.c;
            for (std::size_t i = 0; i < factor.a.size(); ++i) {
                f += factor.a[i] * std::exp(-factor.b[i] * s * s);
            }
            const double phase = q[0] * r[0][j] + q[1] * r[1][j] + q[2] * r[2][j];
            sum += weights[j] * f * Complex(std::cos(phase), std::sin(phase));
        }
        return sum;
    }
};

std::unique_ptr<Partial> identity(const Operator& op, DType species = DType::Int16) {
    const std::vector<DType> dtypes{DType::Float64, DType::Float64, DType::Float64, species};
    return op.identity(make_domain({{0}, {atoms}}, {}, dtypes));
}

Camera small_camera() {
    return {1.54, 90.0, {5, 4}, {8.0, 9.0}, {1.5, 2.0}};
}

}  // namespace

TEST_CASE("amplitudes with form factors agree with direct evaluation, however they are split") {
    const Crystal crystal;
    const StructureFactor ops[] = {
        StructureFactor::sphere(box, 5.0, {1, 1, 1}, options()),
        StructureFactor::detector(box, {9, 9}, {0, 1}, {1, 1, 1}, options()),
        StructureFactor::camera(small_camera(), options()),
    };
    for (const StructureFactor& op : ops) {
        REQUIRE(op.inputs() == 4);
        std::vector<std::unique_ptr<Partial>> partials;
        for (const auto& [from, to] :
             {std::pair<Index, Index>{333, 500}, {0, 1}, {1, 1}, {1, 150}, {150, 333}}) {
            partials.push_back(identity(op));
            crystal.absorb(*partials.back(), from, to);
        }
        auto travelled = identity(op);
        travelled->decode(partials[4]->encode());
        for (const std::size_t i : {0, 3, 2, 1}) {
            travelled->merge(*partials[i]);
        }
        const Result found = travelled->finish();
        for (std::size_t i = 0; i < op.size(); ++i) {
            const Complex expected = crystal.directly(op.q()[i], options().form_factors);
            const Complex amplitude = found.at("amplitude").as<Complex>()[i];
            CHECK(std::abs(amplitude - expected) < 1e-8 * atoms);
            CHECK(found.at("value").as<double>()[i] ==
                  doctest::Approx(std::norm(expected) / atoms).epsilon(1e-6));
        }
        const auto* counts = found.at("counts").as<std::int64_t>();
        CHECK(counts[0] == std::count(crystal.species.begin(), crystal.species.end(), 7));
        CHECK(counts[0] + counts[1] == atoms);
        CHECK(counts[2] == 0);
        CHECK(*found.at("n_atoms").as<std::int64_t>() == atoms);
    }
}

TEST_CASE("pixels lie on the Ewald sphere, and the beam's has q = 0") {
    Camera camera = small_camera();
    camera.beam_at = {3, 2};
    const auto q = q_of_pixels(camera);
    REQUIRE(q.size() == 20);
    CHECK(q[3 * 4 + 2] == Vector3{0, 0, 0});
    const double k = 2 * std::numbers::pi / 1.54;
    for (const Vector3& each : q) {
        CHECK(std::hypot(each[0], each[1], each[2] + k) == doctest::Approx(k));
    }
    // One row above the beam: an angle of atan(8 / 90) in the plane of y and z.
    const double angle = std::atan2(8, 90);
    const Vector3& next = q[4 * 4 + 2];
    CHECK(std::hypot(next[0], next[1], next[2]) == doctest::Approx(2 * k * std::sin(angle / 2)));
    CHECK(next[1] == doctest::Approx(k * std::sin(angle)));
    // A detector that is inclined towards the beam sees the same row under another angle.
    camera.sides[0] = {0, 1, 1};
    const double nearer = std::atan2(8 / std::sqrt(2), 90 + 8 / std::sqrt(2));
    CHECK(q_of_pixels(camera)[4 * 4 + 2][1] == doctest::Approx(k * std::sin(nearer)));
}

TEST_CASE("what is refused") {
    const Crystal crystal;
    auto two = options();
    two.form_factors[1].species = 7;
    CHECK_THROWS_WITH_AS(StructureFactor::sphere(box, 4, {1, 1, 1}, two),
                         doctest::Contains("a species has two form factors: got 7"),
                         InvalidArgument);
    auto uneven = options();
    uneven.form_factors[0].factor.b.pop_back();
    CHECK_THROWS_WITH_AS(StructureFactor::at({{1, 0, 0}}, uneven),
                         doctest::Contains("got 5 a and 4 b"), InvalidArgument);
    auto endless = options();
    endless.form_factors[1].factor.c = NAN;
    CHECK_THROWS_WITH_AS(StructureFactor::at({{1, 0, 0}}, endless),
                         doctest::Contains("species -2 is not finite"), InvalidArgument);
    const auto op = StructureFactor::at({{1, 0, 0}}, options());
    CHECK_THROWS_WITH_AS(identity(op, DType::Float32),
                         doctest::Contains("species have an unsupported dtype: got float32"),
                         InvalidArgument);
    auto without = options();
    without.form_factors.erase(without.form_factors.begin() + 1);
    const auto partial = identity(StructureFactor::at({{1, 0, 0}}, without));
    CHECK_THROWS_WITH_AS(crystal.absorb(*partial, 0, atoms),
                         doctest::Contains("no form factor: got -2; allowed: 7, 4"),
                         InvalidArgument);
    CHECK_THROWS_AS(identity(op)->decode(partial->encode()), Error);
    Camera blind = small_camera();
    blind.sides[0] = {1, 0, 1};
    CHECK_THROWS_WITH_AS(StructureFactor::camera(blind), doctest::Contains("does not hit"),
                         InvalidArgument);
    blind = small_camera();
    blind.pixels[1] = 0;
    CHECK_THROWS_WITH_AS(StructureFactor::camera(blind), doctest::Contains("no pixels: got (5, 0)"),
                         InvalidArgument);
    CHECK(StructureFactor::at({{0, 0, 1}}, without).describe() !=
          StructureFactor::at({{0, 0, 1}}, options()).describe());
}
