// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/path_pace.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

/// A path that carries one window after another, of which two are handed to it at a time.
struct CarryingPath {
    explicit CarryingPath(double rate) : bytes_per_s(rate), pace(0) {}

    void hand(std::size_t bytes, double now_s) {
        pace.send(bytes);
        ends_s = std::max(ends_s, now_s) + static_cast<double>(bytes) / bytes_per_s;
        windows.push_back({bytes, ends_s});
    }

    double bytes_per_s, ends_s = 0;
    PathPace pace;
    std::deque<std::pair<std::size_t, double>> windows;
};

/// Seconds until all paths have carried their parts of the flow.
double seconds_of(const std::vector<double>& rates, std::size_t bytes, std::size_t window) {
    std::vector<CarryingPath> paths(rates.begin(), rates.end());
    std::size_t left = bytes;
    double now_s = 0;
    for (;;) {
        for (std::size_t i = 0; i < paths.size(); ++i) {
            while (left > 0 && paths[i].windows.size() < 2) {
                std::vector<PaceOfPath> paces;
                for (const CarryingPath& path : paths) {
                    paces.push_back({path.pace.bytes_per_s(now_s), path.pace.settled(),
                                     static_cast<double>(path.pace.under_way())});
                }
                const std::size_t next = next_window(paces, i, left, window);
                REQUIRE(next <= std::min(window, left));
                if (next == 0) {
                    break;
                }
                paths[i].hand(next, now_s);
                left -= next;
            }
        }
        const auto first = std::ranges::min_element(paths, {}, [](const CarryingPath& path) {
            return path.windows.empty() ? HUGE_VAL : path.windows.front().second;
        });
        if (first->windows.empty()) {
            REQUIRE(left == 0);  // or nothing would ever be handed out
            return now_s;
        }
        now_s = first->windows.front().second;
        first->pace.complete(first->windows.front().first, now_s);
        first->windows.pop_front();
    }
}

}  // namespace

TEST_CASE("paths of which one is slow end at almost the same time") {
    constexpr std::size_t bytes = 16 << 20, window = 128 << 10;
    const auto over_perfect = [&](std::vector<double> rates) {
        double all = 0;
        for (const double rate : rates) {
            all += rate;
        }
        return seconds_of(rates, bytes, window) / (static_cast<double>(bytes) / all);
    };
    CHECK(over_perfect({1e6, 1e6, 1e6, 1e6, 1e6}) < 1.05);
    CHECK(over_perfect({1e6, 0.25e6, 1e6, 1e6, 1e6}) < 1.03);  // 1.2 with equal windows
    CHECK(over_perfect({1e6, 0.1e6, 1e6, 0.3e6, 1e6}) < 1.05);
    CHECK(over_perfect({0.25e6, 1e6}) < 1.03);
    CHECK(over_perfect({1e6}) < 1.01);
}

TEST_CASE("any paths: all is handed out, whatever is known of them") {
    std::mt19937 random(test_seed(8021));
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<double> rates(1 + random() % 6);
        for (double& rate : rates) {
            rate = 1 + random() % 1000;
        }
        const std::size_t bytes = random() % 1'000'000, window = 1 + random() % 20'000;
        const double seconds = seconds_of(rates, bytes, window);
        CHECK(seconds >= 0);
    }
}

TEST_CASE("a path that is waited for is no faster than that") {
    PathPace pace(0);
    CHECK(pace.bytes_per_s(1) == 0);
    for (int i = 1; i <= 10; ++i) {
        pace.send(100);
        pace.complete(100, i);
    }
    CHECK(pace.bytes_per_s(10) == doctest::Approx(100));
    CHECK(pace.bytes_per_s(1000) == doctest::Approx(100));  // nothing is under way
    pace.send(100);
    CHECK(pace.bytes_per_s(10.5) == doctest::Approx(100));
    CHECK(pace.bytes_per_s(1000) < 1);
    CHECK(pace.under_way() == 100);
}
