// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/plan.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::flow;

namespace {

double best_of_all_orders_s(const std::vector<Planned>& tasks, int ranks) {
    std::vector<std::uint32_t> order(tasks.size());
    std::iota(order.begin(), order.end(), 0U);
    double best = makespan_s(tasks, order, ranks, {});
    while (std::next_permutation(order.begin(), order.end())) {
        best = std::min(best, makespan_s(tasks, order, ranks, {}));
    }
    return best;
}

}  // namespace

TEST_CASE("of few tasks the plan is the best of all orders, and none ends before the bound") {
    std::mt19937 random(test_seed(1));
    for (int load = 0; load < 10; ++load) {
        std::vector<Planned> tasks;
        for (int task = 0; task < 7; ++task) {
            tasks.push_back(
                {1 << (random() % 3), 0.5 + static_cast<double>(random() % 1000) * 1e-3});
        }
        const Plan plan = plan_order(tasks, 8, {}, 4'000'000);
        const double best = best_of_all_orders_s(tasks, 8);
        CHECK(makespan_s(tasks, plan.order, 8, {}) <= best * 1.0006);
        CHECK(bound_s(tasks, 8, {}) <= best);
    }
}

TEST_CASE(
    "the bound counts ranks that wide tasks leave over, those at work, and the longest task") {
    const std::vector<Planned> wide{{4, 1}, {4, 2}, {1, 0.5}};
    CHECK(bound_s(wide, 6, {}) == doctest::Approx(3));  // not two thirds of it
    const std::vector<Planned> narrow{{1, 1}, {1, 2}, {1, 5}};
    CHECK(bound_s(narrow, 4, {}) == doctest::Approx(5));
    const Busy busy[] = {{10, 2}};
    CHECK(bound_s(narrow, 1, busy) == doctest::Approx(28.0 / 3));
}

TEST_CASE("a plan that ends at the bound cannot be better, and another may be") {
    const std::vector<Planned> even{{1, 1}, {1, 1}, {2, 1}};
    CHECK(plan_order(even, 2, {}, 1000).cannot_be_better);
    const std::vector<Planned> uneven{{1, 1}, {1, 1}, {1, 1}};
    CHECK_FALSE(plan_order(uneven, 2, {}, 1000).cannot_be_better);
}
