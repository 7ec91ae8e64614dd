// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/json.hpp"

#include <cmath>
#include <limits>
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
    CHECK_THROWS_WITH_AS(parse_json("{\"a\":1,\n\"b\":2,\n\"a\":3}"),
                         "a name comes twice in an object of JSON, again in line 3: got 'a'; "
                         "allowed: each name once. Remove one",
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(parse_json("[1 2\n]"), doctest::Contains("got '2'; allowed"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(parse_json("[\"a\nb\"]"), doctest::Contains("the control character 10"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(parse_json(std::string(100000, '[')), doctest::Contains("at most 512"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(
        parse_json("{\"a\":\n\"x\"}").find("a")->number("the bandwidth"),
        "the bandwidth in line 2 is of another type: got a string; allowed: a number",
        InvalidArgument);
}

TEST_CASE("integers of 64 bits are exact, other numbers are float64") {
    CHECK(std::get<std::int64_t>(parse_json("-9223372036854775808").value()) ==
          std::numeric_limits<std::int64_t>::min());
    CHECK(std::get<std::uint64_t>(parse_json("18446744073709551615").value()) ==
          std::numeric_limits<std::uint64_t>::max());
    CHECK(parse_json("18446744073709551615").number("it") == 18446744073709551615.0);
    CHECK(std::get<double>(parse_json("18446744073709551616").value()) == 18446744073709551616.0);
    CHECK(std::signbit(std::get<double>(parse_json("-0").value())));
    CHECK(std::get<double>(parse_json("1.0").value()) == 1);
    CHECK(std::get<double>(parse_json("1e3").value()) == 1000);
    CHECK(parse_json("12").integer("it") == 12);
    CHECK_THROWS_WITH_AS(parse_json("1.5").integer("the count"),
                         doctest::Contains("allowed: an integer"), InvalidArgument);
    CHECK_THROWS_AS(parse_json("18446744073709551615").integer("it"), InvalidArgument);
}

TEST_CASE("numbers that JSON does not have are read where Python may have written them") {
    CHECK(std::isnan(parse_json("NaN", JsonDialect::Python).number("it")));
    CHECK(parse_json("[-Infinity]", JsonDialect::Python).list("it")[0].number("it") ==
          -std::numeric_limits<double>::infinity());
    CHECK(parse_json("Infinity", JsonDialect::Python).number("it") ==
          std::numeric_limits<double>::infinity());
    for (const char* text : {"NaN", "Infinity", "-Infinity"}) {
        CHECK_THROWS_AS(parse_json(text), InvalidArgument);
    }
    CHECK_THROWS_AS(parse_json("NaNs", JsonDialect::Python), InvalidArgument);
    CHECK_THROWS_AS(parse_json("-NaN", JsonDialect::Python), InvalidArgument);
    const auto number = [](const std::string& text) {
        return parse_json(text, JsonDialect::Python).number("it");
    };
    const std::string digits = '1' + std::string(400, '0');
    CHECK(number(digits) == std::numeric_limits<double>::infinity());
    CHECK(number('-' + digits) == -std::numeric_limits<double>::infinity());
    CHECK(number("1e-400") == 0);
    CHECK_THROWS_AS(number("1e400x"), InvalidArgument);
    CHECK_THROWS_AS(parse_json(digits), InvalidArgument);
}

TEST_CASE("halves of surrogate pairs are read where Python may have written them") {
    const auto string = [](const char* text) {
        return parse_json(text, JsonDialect::Python).string("it");
    };
    CHECK(string(R"("\udcff")") == "\xef\xbf\xbd");
    CHECK(string(R"("\ud83da")") ==
          "\xef\xbf\xbd"
          "a");
    CHECK(string(R"("\ud83d\u0041")") ==
          "\xef\xbf\xbd"
          "A");
    CHECK(string(R"("\ud83d\ude00")") == "\xf0\x9f\x98\x80");
    CHECK_THROWS_AS(parse_json(R"("\udcff")"), InvalidArgument);
    CHECK_THROWS_AS(parse_json(R"("\ud83da")"), InvalidArgument);
}

TEST_CASE("values are written as Python writes them") {
    for (const char* text :
         {R"({"a": [1, -2.5, 1e+22, 1.0, 18446744073709551615], "b": {"c": null, "d": true}})",
          R"(["a\"\\\b\f\n\r\t\u0001\u00e9\u20ac\ud83d\ude00\u007f"])",
          "[NaN, Infinity, -Infinity]", "[]", "{}", "false"}) {
        CHECK(text_of(parse_json(text, JsonDialect::Python)) == text);
    }
}
