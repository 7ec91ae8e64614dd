// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/axis_labels.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;

using Words = std::vector<std::string>;

TEST_CASE("labels are those of the attribute, one for each axis and all different") {
    CHECK(axis_labels(2, {{"axisLabels", Words{"y", "x"}}}) == Words{"y", "x"});
    CHECK(axis_labels(1, {{"axisLabels", std::string("x")}}) == Words{"x"});
    CHECK(axis_labels(2, {{"axisLabels", Words{"x", "x"}}}).empty());
    CHECK(axis_labels(2, {{"axisLabels", Words{"x"}}}).empty());
    CHECK(axis_labels(2, {{"axisLabels", Words{"x", "y"}}, {"dataOrder", std::string("F")}}) ==
          Words{"y", "x"});
    CHECK(axis_labels(1, {{"axisLabels", 1.0}}).empty());
    CHECK(axis_labels(1, {}).empty());
    CHECK(axis_labels({"t", DType::Float64, {4}, {"x"}, {}}) == Words{"x"});
    CHECK(axis_labels({"t", DType::Float64, {4}, {"x"}, {{"axisLabels", Words{"y"}}}}) ==
          Words{"y"});
}

TEST_CASE("a dataset that is called like an axis of another gets its label") {
    const Attributes labels = {{"axisLabels", Words{"lat", "lon"}}};
    std::vector<DatasetDescription> datasets = {
        {"fields/u", DType::Float64, {4, 6}, {}, labels},
        {"fields/lat", DType::Float64, {4}, {}, {{"units", std::string("degrees_north")}}},
        {"lat", DType::Float64, {4}, {}, {}},
        {"lon", DType::Float64, {5}, {}, {}},
        {"other/lon", DType::Float64, {6}, {}, {}},
        {"fields/lon", DType::Float64, {6}, {}, {{"axisLabels", Words{"cell"}}}}};
    label_by_name(datasets);
    const auto label = [&](std::size_t at) { return axis_labels(datasets[at]); };
    CHECK(label(1) == Words{"lat"});
    CHECK(datasets[1].attributes.contains("units"));
    CHECK(label(2) == Words{"lat"});
    CHECK(label(3).empty());  // another length
    CHECK(label(4).empty());  // not where the field looks for it
    CHECK(label(5) == Words{"cell"});
}
