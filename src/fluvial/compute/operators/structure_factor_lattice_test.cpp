// SPDX-License-Identifier: Apache-2.0
/// The q vectors of structure factors, and the arguments for which there are none.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/compute/operators/structure_factor.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

constexpr Vector3 box{7.3, 5.1, 11.9};

template <class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "no error";
}

bool says(const std::string& message, const char* part) {
    return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the sphere holds one of q and -q for all lattice vectors up to q_max, and no other") {
    for (const Vector3& edges :
         {box, Vector3{11.9, 7.3, 5.1}, Vector3{4, 4, 4}, Vector3{2, 30, 1.5}}) {
        const double q_max = 4 * std::numbers::pi * 2 /
                             4;  // 4 steps of an edge of 4: on the rim of the cube's sphere
        const auto op = StructureFactor::sphere(edges, q_max, {1, 2, 1});
        std::set<std::array<std::int32_t, 3>> seen;
        for (std::size_t i = 0; i < op.size(); ++i) {
            const auto& hkl = op.hkl()[i];
            CHECK(seen.insert(hkl).second);
            CHECK(seen.count({-hkl[0], -hkl[1], -hkl[2]}) == 0);
            for (std::size_t a = 0; a < 3; ++a) {
                CHECK(op.q()[i][a] == doctest::Approx(2 * std::numbers::pi * hkl[a] / edges[a]));
            }
        }
        std::size_t expected = 0;
        for (int h = -40; h <= 40; ++h) {
            for (int k = -40; k <= 40; k += 2) {
                for (int l = -40; l <= 40; ++l) {
                    const double q =
                        2 * std::numbers::pi * std::hypot(h / edges[0], k / edges[1], l / edges[2]);
                    expected += q <= q_max * (1 + 1e-9) && q > 0;
                }
            }
        }
        CHECK(2 * op.size() == expected);
    }
}

TEST_CASE("unusable arguments are refused with value, allowed range and remedy") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(says(message_of([] { StructureFactor::sphere({1, 0, 1}, 5); }), "(1, 0, 1)"));
    CHECK(says(message_of([&] { StructureFactor::sphere({1, nan, 1}, 5); }), "box"));
    CHECK(says(message_of([] { StructureFactor::sphere({1, 1, 1}, -5); }), "-5"));
    CHECK(says(message_of([&] { StructureFactor::sphere({1, 1, 1}, nan); }), "q_max"));
    CHECK(says(message_of([] { StructureFactor::sphere({1, 1, 1}, 6.28); }), "at least 6.28319"));
    CHECK(says(message_of([] { StructureFactor::sphere({1, 1, 1}, 7, {0, 1, 1}); }), "stride"));
    CHECK(says(message_of([] { StructureFactor::sphere({1, 1, 1}, 1e5); }), "bytes"));
    CHECK(says(message_of([] { StructureFactor::sphere({1e300, 1, 1}, 1e200); }), "bytes"));
    CHECK(says(message_of([] { StructureFactor::detector({1, 1, 1}, {1e9, 1e9}); }), "bytes"));
    CHECK(says(message_of([] { StructureFactor::detector({1, 1, 1}, {9, 9}, {1, 1}); }), "(1, 1)"));
    CHECK(says(message_of([] { StructureFactor::detector({1, 1, 1}, {9, 9}, {0, 3}); }), "(0, 3)"));
    CHECK(says(message_of([] { StructureFactor::detector({1, 1, 1}, {1, 1}); }), "no q vector"));
    CHECK(says(message_of([] { StructureFactor::plane({0, 0, 0}, {1, 0, 0}, {2, 2}); }),
               "(0, 0, 0)"));
    CHECK(
        says(message_of([] { StructureFactor::plane({1, 0, 0}, {0, 1, 0}, {-1, 2}); }), "(-1, 2)"));
    CHECK(says(message_of([] { StructureFactor::at({}); }), "empty"));
    CHECK(says(message_of([&] { StructureFactor::at({{0, nan, 0}}); }), "finite"));
    StructureFactorOptions options;
    options.kernel = "mmx";
    CHECK(
        says(message_of([&] { StructureFactor::sphere(box, 3, {1, 1, 1}, options); }), "portable"));
}
