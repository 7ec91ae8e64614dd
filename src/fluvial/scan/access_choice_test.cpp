// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/access_choice.hpp"

#include <functional>

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::scan;

namespace {

constexpr Index piece = Index{1} << 20;

/// Of `bytes` read one after the other, how many were read in place; `ns_a_byte` by way and place.
Index in_place(AccessChoice& choice, Index bytes,
               const std::function<double(bool in_place, Index at)>& ns_a_byte) {
    Index found = 0;
    for (Index at = 0; at < bytes; at += piece) {
        const bool looks = choice.in_place();
        found += looks ? piece : 0;
        choice.took(piece, static_cast<std::int64_t>(ns_a_byte(looks, at) * piece));
    }
    return found;
}

}  // namespace

TEST_CASE("the faster way has most of a long scan, and the other some trials") {
    constexpr Index all = Index{8} << 30;
    for (const bool faster_in_place : {false, true}) {
        AccessChoice choice(Options::Access::Chosen);
        const Index looked = in_place(choice, all, [&](bool in_place, Index) {
            return in_place == faster_in_place ? 0.1 : 0.15;
        });
        const Index slower = faster_in_place ? all - looked : looked;
        CHECK(slower > 0);
        CHECK(slower < all / 50);
    }
}

TEST_CASE("a scan follows when the faster way becomes the slower one") {
    AccessChoice choice(Options::Access::Chosen);
    constexpr Index half = Index{4} << 30;
    const Index looked = in_place(choice, 2 * half, [&](bool in_place, Index at) {
        return in_place == (at < half) ? 0.1 : 0.2;
    });
    CHECK(looked > half * 8 / 10);
    CHECK(looked < half * 12 / 10);
}

TEST_CASE("a round that had to wait does not decide") {
    AccessChoice choice(Options::Access::Chosen);
    in_place(choice, AccessChoice::rounds * AccessChoice::round_bytes,
             [&](bool in_place, Index at) {
                 return in_place && at < AccessChoice::round_bytes ? 50.0 : in_place ? 0.1 : 0.2;
             });
    CHECK(choice.in_place());
}

TEST_CASE("what is told is kept") {
    for (const auto access : {Options::Access::Copy, Options::Access::InPlace}) {
        AccessChoice choice(access);
        constexpr Index all = Index{2} << 30;
        const Index looked = in_place(choice, all, [&](bool in_place, Index) {
            return in_place == (access == Options::Access::Copy) ? 0.1 : 9.0;
        });
        CHECK(looked == (access == Options::Access::Copy ? 0 : all));
    }
}
