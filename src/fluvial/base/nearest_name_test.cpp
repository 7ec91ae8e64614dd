// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/nearest_name.hpp"

#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;

TEST_CASE("a slip of the keyboard finds the name that was meant") {
    const std::vector<std::string> names = {"temperature", "pressure", "u10", "v10",
                                            "particles/atoms/position/x"};
    CHECK(did_you_mean("temprature", names) == "Did you mean 'temperature'?");
    CHECK(did_you_mean("tempreature", names) == "Did you mean 'temperature'?");
    CHECK(did_you_mean("Pressure", names) == "Did you mean 'pressure'?");
    CHECK(did_you_mean("u01", names) == "Did you mean 'u10'?");
    CHECK(did_you_mean("position/x", names) == "Did you mean 'particles/atoms/position/x'?");
    CHECK(did_you_mean("group/u10", names) == "Did you mean 'u10'?");
}

TEST_CASE("the nearest of several is proposed, the first of equally near ones") {
    const std::vector<std::string> names = {"mean", "median", "min", "max"};
    CHECK(did_you_mean("meann", names) == "Did you mean 'mean'?");
    CHECK(did_you_mean("medain", names) == "Did you mean 'median'?");
    CHECK(did_you_mean("mx", names) == "Did you mean 'max'?");
}

TEST_CASE("a name that is like none proposes nothing") {
    const std::vector<std::string> names = {"temperature", "x", ""};
    CHECK(did_you_mean("velocity", names).empty());
    CHECK(did_you_mean("median", std::vector<std::string>{"mean"}).empty());
    CHECK(did_you_mean("y", names).empty());
    CHECK(did_you_mean("", names).empty());
    CHECK(did_you_mean(std::string(1000, 'x'), names).empty());
    CHECK(did_you_mean("anything", {}).empty());
}
