// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/metrics.hpp"

#include <doctest/doctest.h>

#include "fluvial/distribute/registry.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

TEST_CASE("metrics of a distribution that can be computed by hand") {
    const Place a{{"host", "a"}}, b{{"host", "b"}};
    const Request request{{{{{0}, {6}}, 0, a}, {{{6}, {2}}, 1, b}, {{{8}, {4}}, 2, b}}, {a, b}, 8};
    Distribution made;
    give(made, 0, {{0}, {6}}, 0);
    give(made, 0, {{6}, {2}}, 1);
    give(made, 0, {{8}, {1}}, 2);
    give(made, 1, {{9}, {3}}, 2);
    const Metrics metrics = metrics_of(request, made);
    CHECK(metrics.locality == doctest::Approx(9.0 / 12));
    CHECK(metrics.partners_max == 3);
    CHECK(metrics.partners_mean == doctest::Approx(2));
    CHECK(metrics.balance == doctest::Approx(9.0 / 6));
    CHECK(metrics.bytes_max == 72);
    CHECK(metrics.alignment == doctest::Approx(8.0 / 12));
    CHECK(metrics.pieces == 4);
    CHECK(metrics_of(request, made, "socket").locality == 0);
    CHECK(metrics_of(request, {}).balance == 1);
}
