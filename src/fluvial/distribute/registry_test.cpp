// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/registry.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/finer_errors.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

TEST_CASE("a strategy describes itself in words that make it again") {
    for (const Registration& entry : registrations()) {
        for (const std::string_view example : entry.examples) {
            CAPTURE(example);
            const std::string words = make_strategy(example)->describe();
            CHECK(make_strategy(words)->describe() == words);
            CHECK(words.starts_with(entry.name == "discard" && example != "discard" ? "by-host"
                                                                                    : entry.name));
        }
    }
    CHECK(make_strategy("hyperslabs( axis = -1 )")->describe() == "hyperslabs(axis=-1)");
    CHECK(make_strategy("hyperslabs(1)")->describe() == "hyperslabs(axis=1)");
    CHECK(make_strategy("cuboids(4x2)")->describe() == "cuboids(grid=4x2)");
    CHECK(make_strategy("round-robin()")->describe() == "round-robin");
    CHECK(make_strategy("by-host(fallback=fail, within=blocks)")->describe() ==
          "by-host(blocks, fallback=fail)");
    CHECK(make_strategy("even-binpacking")->describe() == "even-binpacking(tolerance=0.1)");
}

TEST_CASE("what cannot be read says why") {
    CHECK_THROWS_WITH_AS(make_strategy("hyperslap"),
                         doctest::Contains("Did you mean 'hyperslabs'?"), UnknownName);
    CHECK_THROWS_WITH_AS(make_strategy("mine"), doctest::Contains("round-robin, hyperslabs"),
                         UnknownName);
    CHECK_THROWS_WITH_AS(make_strategy("hyperslabs(axes=1)"),
                         "hyperslabs: unknown argument: got 'axes'; allowed: axis. Did you mean "
                         "'axis'?",
                         UnknownName);
    CHECK_THROWS_WITH_AS(make_strategy("hyperslabs(axis=1, axis=0)"),
                         "hyperslabs: an argument is given twice: got 'axis'; allowed: each once",
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(make_strategy("round-robin(3)"),
                         "round-robin: unknown argument: got '3'; allowed: none", UnknownName);
    CHECK_THROWS_WITH_AS(make_strategy("hyperslabs(axis=x)"),
                         "hyperslabs: argument 'axis' cannot be used: got 'x'; allowed: an integer "
                         "from -16",
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(make_strategy("by-host"),
                         doctest::Contains("by-host: argument 'within' is missing"),
                         InvalidArgument);
    CHECK_THROWS_AS(make_strategy("even-binpacking(tolerance=nan)"), InvalidArgument);
    for (const char* text : {"", "()", "blocks(", "blocks)", "by-host(blocks))", "by-host(,)",
                             "by-host(blocks,)", "a b", "by-host(within=)", "cuboids(0x2)",
                             "cuboids(2x)", "cuboids(99999999999999999999)", "blocks(]"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(make_strategy(text), InvalidArgument);
    }
    std::string deep = "blocks";
    for (int i = 0; i < 10000; ++i) {
        deep = "by-host(" + deep + ")";
    }
    CHECK_THROWS_WITH_AS(make_strategy(deep), doctest::Contains("too many"), InvalidArgument);
}

TEST_CASE("a strategy of one's own has a name, also inside of others") {
    const OwnStrategies own{{"mine", make_strategy("blocks")}};
    CHECK(make_strategy("mine", own) == own.at("mine"));
    CHECK(make_strategy("by-host(mine, fallback=mine)", own)->describe() ==
          "by-host(blocks, fallback=blocks)");
    CHECK_THROWS_AS(make_strategy("mine(1)", own), UnknownName);
}
