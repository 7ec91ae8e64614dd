// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/toml.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

TEST_CASE("a table of TOML is an object of JSON") {
    const Json read = parse_toml(
        "steps = 8\nseconds = 2.5\nencrypt = true\nday = 2026-01-02\n"
        "[series.\"run.h5\"]\npath = 'out/run.h5'\nlist = [1, [2]]\n");
    CHECK(text_of(read) ==
          R"({"day": "2026-01-02", "encrypt": true, "seconds": 2.5, "series": {"run.h5": )"
          R"({"list": [1, [2]], "path": "out/run.h5"}}, "steps": 8})");
    CHECK(read.find("encrypt")->line() == 3);
    CHECK(text_of(parse_toml("")) == "{}");
}

TEST_CASE("what is not TOML is refused by its place") {
    CHECK_THROWS_WITH_AS(parse_toml("a = 1\nengine = hdf5"),
                         doctest::Contains("not TOML in line 2, column"), InvalidArgument);
    CHECK_THROWS_AS(parse_toml("a = 1\na = 2"), InvalidArgument);
    CHECK_THROWS_AS(parse_toml("a = " + std::string(100'000, '[')), InvalidArgument);
    CHECK_THROWS_AS(parse_toml("a = \"\xff\""), InvalidArgument);
}
