// SPDX-License-Identifier: Apache-2.0
// What the mains of the C++ tests share: the test cases that ask for a seed run again with each
// further one that FLUVIAL_TEST_SEED names, for as long as FLUVIAL_TEST_SECONDS allows.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

namespace fluvial {

/// Notes which test cases ask for a seed.
class RandomTestCases : public doctest::IReporter {
  public:
    explicit RandomTestCases(const doctest::ContextOptions& /*options*/) {}

    static std::set<std::string>& names() {
        static std::set<std::string> found;
        return found;
    }

    void test_case_start(const doctest::TestCaseData& test_case) override {
        name_ = test_case.m_name;
        seeds_of_run().asked_for = false;
    }
    void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {
        if (seeds_of_run().asked_for) {
            names().insert(name_);
        }
    }

    void report_query(const doctest::QueryData& /*query*/) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
    void test_case_reenter(const doctest::TestCaseData& /*test_case*/) override {}
    void test_case_exception(const doctest::TestCaseException& /*error*/) override {}
    void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& /*data*/) override {}
    void log_message(const doctest::MessageData& /*message*/) override {}
    void test_case_skipped(const doctest::TestCaseData& /*test_case*/) override {}

  private:
    std::string name_;
};

/// Lets the test cases that asked for a seed run, and no others, from now on.
inline void choose_random_test_cases(doctest::Context& context) {
    context.clearFilters();
    for (const std::string& name : RandomTestCases::names()) {
        std::string pattern;
        for (const char letter : name) {
            pattern +=
                letter == ',' || letter == '\\' ? std::string{'\\', letter} : std::string{letter};
        }
        context.addFilter("test-case", pattern.c_str());
    }
    context.setOption("minimal", true);
}

/// Runs the tests; returns whether a check failed. `any_rank(condition)` tells whether it holds on
/// any rank. It ends at the first seed that fails: its ranks may not be in step any more.
template <class AnyRank>
bool failed_with_any_seed(doctest::Context& context, const AnyRank& any_rank) {
    using Clock = std::chrono::steady_clock;
    const char* const seconds = std::getenv("FLUVIAL_TEST_SECONDS");
    const std::chrono::duration<double> limit(seconds == nullptr ? 0 : std::atof(seconds));
    const Clock::time_point began = Clock::now();
    SeedsOfRun& seeds = seeds_of_run();

    bool failed = any_rank(context.run() != 0);
    if (failed || seeds.given.size() < 2 || RandomTestCases::names().empty()) {
        return failed;
    }
    choose_random_test_cases(context);
    std::size_t done = 1;
    for (; done < seeds.given.size() && !failed; ++done) {
        if (any_rank(Clock::now() - began > limit)) {
            break;
        }
        seeds.current = done;
        failed = any_rank(context.run() != 0);
    }
    std::printf("seeds: %zu of %zu\n", done, seeds.given.size());
    return failed;
}

}  // namespace fluvial

REGISTER_LISTENER("seeds", 1, fluvial::RandomTestCases);
