// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/openpmd_layout.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/group_attributes.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Numbers = std::vector<double>;

DatasetDescription dataset(const std::string& name, const Coordinates& shape,
                           const Attributes& attributes = {}) {
    DatasetDescription made;
    made.name = name;
    made.dtype = DType::Float64;
    made.shape = shape;
    made.attributes = attributes;
    return made;
}

OpenPmdLayout layout_of(const std::vector<DatasetDescription>& datasets,
                        const Attributes& attributes = {}, const GroupAttributes& groups = {}) {
    StepContents step;
    step.attributes = with_groups(attributes, groups, 100);
    step.datasets = datasets;
    return openpmd_layout(step, openpmd_series_attributes({}, {}));
}

const Attributes& attributes_of(const OpenPmdLayout& layout, const std::string& name) {
    const auto found = std::ranges::find(layout.datasets, name, &DatasetDescription::name);
    REQUIRE(found != layout.datasets.end());
    return found->attributes;
}

}  // namespace

TEST_CASE("what belongs to a record hangs on it, with what openPMD asks for") {
    const OpenPmdLayout layout =
        layout_of({dataset("meshes/E/x", {4, 6}, {{"gridSpacing", Numbers{0.5, 2}}}),
                   dataset("meshes/E/y", {4, 6}, {{"unitSI", 3.0}})},
                  {{"time", 2.0}});
    CHECK(layout.groups.at("").at("time") == Attribute(2.0));
    CHECK_FALSE(layout.groups.at("").contains("@iteration"));
    const Attributes& record = layout.groups.at("meshes/E");
    CHECK(record.at("gridSpacing") == Attribute(Numbers{0.5, 2}));
    CHECK(record.at("axisLabels") == Attribute(std::vector<std::string>{"y", "x"}));
    CHECK(attributes_of(layout, "meshes/E/x").at("unitSI") == Attribute(1.0));
    CHECK(attributes_of(layout, "meshes/E/y").at("unitSI") == Attribute(3.0));
}

TEST_CASE("what a step says of groups hangs on them") {
    const OpenPmdLayout layout =
        layout_of({dataset("meshes/E/x", {4}, {{"smooth", true}, {"unitSI", 3.0}}),
                   dataset("meshes/rho", {4}), dataset("particles/e/position/x", {7})},
                  {},
                  {{"meshes/E", {{"smooth", true}, {"gridSpacing", Numbers{0.5}}}},
                   {"meshes", {{"fieldSolver", std::string("Yee")}}},
                   {"particles/e", {{"particleShape", 3.0}}},
                   {"meshes/rho", {{"ignored", 1.0}}},
                   {"species", {{"count", std::int64_t{1}}}}});
    CHECK(layout.groups.at("meshes/E").at("smooth") == Attribute(true));
    CHECK(layout.groups.at("meshes/E").at("gridSpacing") == Attribute(Numbers{0.5}));
    CHECK_FALSE(attributes_of(layout, "meshes/E/x").contains("smooth"));  // its record has it
    CHECK(attributes_of(layout, "meshes/E/x").at("unitSI") == Attribute(3.0));
    CHECK(layout.groups.at("meshes").at("fieldSolver") == Attribute(std::string("Yee")));
    CHECK(layout.groups.at("particles/e").at("particleShape") == Attribute(3.0));
    CHECK(layout.groups.at("species").at("count") == Attribute(std::int64_t{1}));
    CHECK_FALSE(layout.groups.contains("meshes/rho"));  // a dataset
    CHECK(layout.constants.front().name == "particles/e/positionOffset/x");
}

TEST_CASE("components that differ in what belongs to their record are refused") {
    CHECK_THROWS_AS(layout_of({dataset("meshes/E/x", {4}, {{"gridSpacing", Numbers{1}}}),
                               dataset("meshes/E/y", {4}, {{"gridSpacing", Numbers{2}}})}),
                    InvalidArgument);
    CHECK_THROWS_AS(layout_of({dataset("a", {4}), dataset("a/b", {4})}), InvalidArgument);
    CHECK_THROWS_AS(layout_of({dataset("a//b", {4})}), InvalidArgument);
}
