// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/group_attributes.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

TEST_CASE("what a step says of groups goes along with its attributes, and comes back") {
    const Attributes own = {{"dt", 1.0}};
    const GroupAttributes groups = {
        {"meshes/E", {{"smooth", true}}},
        {"particles/e", {{"charge", -1.0}, {"name", std::string("e")}}}};
    const Attributes all = with_groups(own, groups, 100);
    CHECK(all.size() == 5);
    CHECK(all.at("meshes/E@smooth") == Attribute(true));
    CHECK(own_attributes(all) == own);
    CHECK(groups_of(all) == groups);
    CHECK(iteration_of(all, 1) == 100);
    CHECK(iteration_of(own, 1) == 1);
    CHECK(iteration_of({{"@iteration", std::int64_t{-1}}}, 3) == 3);
    CHECK(iteration_of({{"@iteration", 7.0}}, 3) == 3);
}

TEST_CASE("paths that no group can have are refused") {
    for (const char* path : {"", "/a", "a/", "a//b", "a@b"}) {
        CHECK_THROWS_AS(static_cast<void>(with_groups({}, {{path, {{"x", 1.0}}}}, {})),
                        InvalidArgument);
    }
}
