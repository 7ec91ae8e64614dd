// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/json.hpp"

#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

TEST_CASE("values of every kind are read") {
    const Json json = parse_json(
        "{\"a\": [1, -2.5e3, 0],\n \"b\": {\"c\": true, \"d\": null},\n \"e\": "
        "\"x\\n\\u00e9\\ud83d\\ude00\"}");
    CHECK(json.find("a")->list("a")[1].number("a") == -2500);
    CHECK(json.find("a")->list("a").size() == 3);
    CHECK(json.find("b")->find("c")->boolean("c"));
    CHECK(json.find("e")->string("e") == "x\n\xc3\xa9\xf0\x9f\x98\x80");
    CHECK(json.find("e")->line() == 3);
    CHECK(json.find("f") == nullptr);
    CHECK(json.find("a")->find("b") == nullptr);
    CHECK(parse_json("[]").list("it").empty());
    CHECK(parse_json(" { } ").members("it").empty());
}

TEST_CASE("what is not JSON says where") {
    CHECK_THROWS_WITH_AS(parse_json("{\"a\":\n [1, }"), doctest::Contains("line 2, column 6"),
                         InvalidArgument);
    for (const char* text : {"",
                             "{",
                             "[1",
                             "[1,]",
                             "{\"a\" 1}",
                             "{\"a\":1,}",
                             "{a:1}",
                             "01",
                             "1.",
                             ".5",
                             "+1",
                             "-",
                             "\"a",
                             "\"\\x\"",
                             "\"\\u12\"",
                             "\"\\ud800\"",
                             "\"\\ud800\\u0041\"",
                             "nul",
                             "1 2",
                             "nan",
                             "\"a\tb\"",
                             "{\"a\":1,\"a\":2}",
                             "1e999"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_json(text), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(parse_json("[1 2\n]"), doctest::Contains("got '2'; allowed"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(parse_json("[\"a\nb\"]"), doctest::Contains("the control character 10"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(parse_json(std::string(100000, '[')), doctest::Contains("at most 64"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(
        parse_json("{\"a\":\n\"x\"}").find("a")->number("the bandwidth"),
        "the bandwidth in line 2 is of another type: got a string; allowed: a number",
        InvalidArgument);
}
