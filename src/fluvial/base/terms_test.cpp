// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/terms.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;

namespace {

Terms saying(const std::string& what, const std::string& value) {
    Terms terms;
    terms.add("the shape", "[4]");
    terms.add(what, value);
    return terms;
}

std::string refusal(const std::vector<Terms>& by_rank) {
    try {
        check_alike(by_rank);
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("numbers are told with all their digits, and lists by all their entries") {
    CHECK(exact(0.1) == "0.1");
    CHECK(exact(std::nextafter(0.1, 1.0)) == "0.10000000000000002");
    CHECK(exact(-3) == "-3");
    CHECK(exact(true) == "true");
    CHECK(exact("mean") == "'mean'");
    const std::vector<double> few{0, 0.5, std::numeric_limits<double>::infinity()};
    CHECK(exact(std::span<const double>(few)) == "[0, 0.5, inf]");
    std::vector<double> many(1001);
    std::iota(many.begin(), many.end(), 0.0);
    const std::string before = exact(std::span<const double>(many));
    CHECK(before.starts_with("[0, 1, 2, 3, ..., 1000] (1001 numbers, checksum "));
    CHECK(before.size() < 80);
    many[500] = std::nextafter(many[500], 0.0);
    CHECK(exact(std::span<const double>(many)) != before);
    CHECK(declared("speed", "") == "speed");
    CHECK(declared("speed", "2") == "speed, version '2'");
}

TEST_CASE("equal terms have equal numbers, and others do not") {
    const auto number = [](const Terms& terms) { return number_of(terms.of_all()); };
    CHECK(number(saying("a", "b")) == number(saying("a", "b")));
    CHECK(number(saying("a", "b")) != number(saying("a", "c")));
    CHECK(number(saying("ab", "")) != number(saying("a", "b")));
    CHECK(number(saying("a", "b")) >= 0);
    const Terms again = Terms::decode(saying("a", "b").encode());
    CHECK(again.of_all() == saying("a", "b").of_all());
}

TEST_CASE("what differs is told with the values of the first two ranks that differ") {
    const Terms wanted = saying("the operator of 'h'", "mean(skipna=false)");
    CHECK(refusal({wanted, wanted}).empty());
    CHECK(refusal({wanted, wanted, saying("the operator of 'h'", "mean(skipna=true)")}) ==
          "the ranks differ in the operator of 'h': got mean(skipna=true) on rank 2; allowed: "
          "mean(skipna=false) as on rank 0. Call it with equal arguments on every rank");
    Terms more = wanted;
    more.add("weights", "given");
    CHECK(refusal({wanted, more}) ==
          "the ranks ask for different things: got weights (given) on rank 1; allowed: nothing as "
          "on rank 0. Call it with equal arguments on every rank");
    CHECK(refusal({more, wanted}) ==
          "the ranks ask for different things: got nothing on rank 1; allowed: weights (given) as "
          "on rank 0. Call it with equal arguments on every rank");
}

TEST_CASE("long values are cut to where they differ") {
    const std::string long_value(200, 'x');
    std::string other = long_value;
    other[150] = 'y';
    const std::string message = refusal({saying("a name", long_value), saying("a name", other)});
    CHECK(message.find("xxyxx") != std::string::npos);
    CHECK(message.size() < 300);
    CHECK(excerpt(other, 150).size() <= 80);
    CHECK(excerpt(other, 199).ends_with('x'));
    CHECK(excerpt(other).ends_with("..."));
    CHECK(excerpt(std::string(80, 'z')) == std::string(80, 'z'));
}

TEST_CASE("a rank that names no term of a kind differs from no other rank") {
    Terms silent, sum, product;
    sum.add_where_known("the operation", "sum");
    product.add_where_known("the operation", "product", "Give consumers one operation");
    CHECK(refusal({silent, sum, silent, sum}).empty());
    CHECK(refusal({silent, sum, silent, product}) ==
          "the ranks differ in the operation: got product on rank 3; allowed: sum as on rank 1. "
          "Give consumers one operation");
}
