// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/trial.hpp"

#include <functional>
#include <string>

#include <doctest/doctest.h>

using namespace fluvial;

namespace {

/// The ways of `units` pieces of work, one character each, which cost what `cost` says.
std::string ways(Trial& trial, int units, const std::function<double(int way, int unit)>& cost) {
    std::string found;
    for (int unit = 0; unit < units; ++unit) {
        const int way = trial.way();
        found += static_cast<char>('0' + way);
        trial.took(1, cost(way, unit));
    }
    return found;
}

constexpr TrialRules rules{.round = 2, .rounds = 4, .rest = {6, 6}, .second_cost = {}};

}  // namespace

TEST_CASE("both ways are tried in turn, and the cheaper one is taken until the next trial") {
    Trial first(rules), second(rules);
    CHECK(ways(first, 22, [](int way, int) { return way == 0 ? 1.0 : 2.0; }) ==
          "00110011"
          "000000"
          "00110011");
    CHECK(ways(second, 22, [](int way, int) { return way == 0 ? 2.0 : 1.0; }) ==
          "00110011"
          "111111"
          "00110011");
}

TEST_CASE("the other way wins the next trial when it has become the cheaper one") {
    Trial trial(rules);
    const auto cost = [](int way, int unit) { return (way == 0) == (unit < 14) ? 1.0 : 2.0; };
    CHECK(ways(trial, 28, cost) ==
          "00110011"
          "000000"
          "00110011"
          "111111");
}

TEST_CASE("a round that was held up does not decide") {
    Trial trial(rules);
    const auto cost = [](int way, int unit) { return unit == 0 ? 99.0 : way == 0 ? 1.0 : 2.0; };
    CHECK(ways(trial, 14, cost) ==
          "00110011"
          "000000");
}

TEST_CASE("of two ways that cost the same the first wins") {
    Trial trial(rules);
    CHECK(ways(trial, 14, [](int, int) { return 1.0; }) ==
          "00110011"
          "000000");
}

TEST_CASE("costs are compared by the work that they were for") {
    Trial trial({.round = 10, .rounds = 2, .rest = {100, 100}, .second_cost = {}});
    trial.took(10, 10.0);  // 1 a unit
    REQUIRE(trial.way() == 1);
    trial.took(40, 20.0);  // 0.5 a unit
    CHECK_FALSE(trial.tries());
    CHECK(trial.way() == 1);
}

TEST_CASE("work may come in pieces that do not fit the rounds") {
    Trial trial({.round = 10, .rounds = 2, .rest = {10, 10}, .second_cost = {}});
    trial.took(7, 7.0);
    CHECK(trial.way() == 0);
    trial.took(7, 7.0);
    CHECK(trial.way() == 1);
    trial.took(1000, 5000.0);
    CHECK(trial.way() == 0);
    CHECK_FALSE(trial.tries());
    trial.took(1000, 0.0);
    CHECK(trial.tries());
}

TEST_CASE("a way whose cost is known is not tried, and taken while the other one costs more") {
    Trial trial({.round = 1, .rounds = 1, .rest = {0, 3}, .second_cost = 1.5});
    const auto cost = [](int, int unit) { return unit == 2 || unit == 6 ? 2.0 : 1.0; };
    CHECK(ways(trial, 12, cost) ==
          "000"
          "111"
          "0"
          "111"
          "00");
    Trial equal({.round = 1, .rounds = 1, .rest = {0, 3}, .second_cost = 1.5});
    CHECK(ways(equal, 4, [](int, int) { return 1.5; }) == "0000");
}

TEST_CASE("the second way wins only by the gain that it is to have") {
    TrialRules gain = rules;
    gain.second_gain = 0.9;
    for (const double second : {0.95, 0.85}) {
        CAPTURE(second);
        Trial trial(gain);
        ways(trial, 8, [&](int way, int) { return way == 0 ? 1.0 : second; });
        CHECK(trial.way() == (second < 0.9 ? 1 : 0));
        CHECK(trial.cost(1) == second);
    }
}

TEST_CASE("rests get longer while the same way wins") {
    TrialRules longer{.round = 1, .rounds = 2, .rest = {2, 3}, .second_cost = {}};
    longer.rest_max = 7;
    Trial trial(longer);
    const auto cost = [](int way, int unit) { return (way == 0) == (unit < 20) ? 1.0 : 2.0; };
    CHECK(ways(trial, 32, cost) ==
          "0100"
          "010000"
          "010000000"
          "01000000001"
          "11");
}

TEST_CASE("by the median neither dear nor cheap rounds decide") {
    TrialRules median{.round = 1, .rounds = 6, .rest = {8, 8}, .second_cost = {}};
    median.judges = TrialJudges::Median;
    Trial trial(median);
    const auto cost = [](int way, int unit) {
        return unit == 2 ? 99.0 : unit == 3 ? 0.1 : way == 0 ? 1.0 : 2.0;
    };
    CHECK(ways(trial, 14, cost) == "01010100000000");
    CHECK(trial.cost(0) == 1.0);
    CHECK(trial.cost(1) == 2.0);
}

TEST_CASE("by the median later trials are one round, and what comes between them counts") {
    TrialRules median{.round = 1, .rounds = 6, .rest = {4, 4}, .second_cost = {}};
    median.judges = TrialJudges::Median;
    Trial quiet(median), changed(median);
    CHECK(ways(quiet, 21, [](int way, int) { return way == 0 ? 1.0 : 2.0; }) ==
          "010101"
          "00001"
          "00001"
          "00001");
    // Of the first way three rounds are known when it becomes slow, and four slow ones outvote
    // them.
    const auto cost = [](int way, int unit) { return way == 1 ? 2.0 : unit < 6 ? 1.0 : 9.0; };
    CHECK(ways(changed, 14, cost) ==
          "010101"
          "000"
          "11110");
}

TEST_CASE("one round that was broken off is enough") {
    TrialRules median{.round = 1, .rounds = 10, .rest = {4, 4}, .second_cost = {}};
    median.judges = TrialJudges::Median;
    Trial trial(median);
    trial.took(1, 1.0);
    REQUIRE(trial.way() == 1);
    trial.broke_off(1, 5.0);
    CHECK(trial.cost(1) == 5.0);
    CHECK(ways(trial, 9, [](int, int) { return 1.0; }) == "000000001");
    Trial cheapest(rules);
    cheapest.took(2, 2.0);
    cheapest.broke_off(1, 5.0);
    CHECK(ways(cheapest, 8, [](int, int) { return 1.0; }) == "00000000");
}
