// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/options.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

void check_refused(const std::function<void(WriterOptions&)>& change, const std::string& option,
                   const std::string& value, const std::string& allowed) {
    CAPTURE(option);
    WriterOptions options;
    change(options);
    for (const std::string& part : {option, value, allowed}) {
        CHECK_THROWS_WITH_AS(validate("melt", options), doctest::Contains(part.c_str()),
                             InvalidArgument);
    }
}

}  // namespace

TEST_CASE("the defaults can work") {
    CHECK_NOTHROW(validate("melt", WriterOptions{}));
    CHECK_NOTHROW(validate("melt", ReaderOptions{}));
    CHECK(effective_queue_bytes(WriterOptions{}) > 1 << 26);
    CHECK(effective_queue_bytes(WriterOptions{.queue_bytes = 17}) == 17);
}

TEST_CASE("a value out of range is named with its option and what is allowed") {
    check_refused([](auto& o) { o.queue_steps = 0; }, "queue_steps", "got 0", "1 to 512");
    check_refused([](auto& o) { o.queue_steps = 513; }, "queue_steps", "got 513", "1 to 512");
    check_refused([](auto& o) { o.queue_bytes = -1; }, "queue_bytes", "got -1",
                  "1 to 8796093022208");
    check_refused([](auto& o) { o.queue_bytes = std::numeric_limits<std::int64_t>::max(); },
                  "queue_bytes", "got 9223372036854775807", "1 to 8796093022208");
    check_refused([](auto& o) { o.readers = -1; }, "readers", "got -1", "0 to 32");
    check_refused([](auto& o) { o.readers = 33; }, "readers", "got 33", "0 to 32");
    check_refused([](auto& o) { o.rendezvous_timeout_s = -1; }, "rendezvous_timeout", "got -1 s",
                  "0 to 1e7 s");
    check_refused([](auto& o) { o.step_timeout_s = std::nan(""); }, "step_timeout", "nan",
                  "0 to 1e7 s");
    check_refused([](auto& o) { o.step_timeout_s = HUGE_VAL; }, "step_timeout", "inf",
                  "0 to 1e7 s");
    check_refused([](auto& o) { o.stall_timeout_s = 0.1; }, "stall_timeout", "got 0.1 s",
                  "0.2 to 1e7 s");
}

TEST_CASE("a choice that there is not is named with those that there are") {
    check_refused([](auto& o) { o.full = static_cast<FullPolicy>(99); }, "full is", "got number 99",
                  "0 (block), 1 (discard-newest), 2 (discard-oldest), 3 (spill)");
    check_refused(
        [](auto& o) {
            o.full = FullPolicy::Spill;
            o.on_full_disk = FullPolicy::Spill;
        },
        "on_full_disk is", "got number 3", "0 (block), 1 (discard-newest), 2 (discard-oldest).");
    check_refused([](auto& o) { o.steps_to = static_cast<StepsTo>(3); }, "steps_to is",
                  "got number 3", "0 (all), 1 (round-robin), 2 (on-demand)");
    check_refused([](auto& o) { o.on_stalled_reader = static_cast<StalledPolicy>(2); },
                  "on_stalled_reader is", "got number 2", "0 (evict), 1 (wait)");
    for (const Start start : {static_cast<Start>(77), Start::At}) {
        CHECK_THROWS_WITH_AS(validate("melt", ReaderOptions{.start = start}),
                             doctest::Contains("start is none of its values"), InvalidArgument);
    }
}

TEST_CASE("a reader's options are checked likewise") {
    CHECK_THROWS_AS(validate("melt", ReaderOptions{.rendezvous_timeout_s = -1}), InvalidArgument);
    CHECK_THROWS_AS(validate("melt", ReaderOptions{.step_timeout_s = std::nan("")}),
                    InvalidArgument);
    CHECK_THROWS_AS(validate("melt", ReaderOptions{.stall_timeout_s = 0}), InvalidArgument);
}

TEST_CASE("combinations that cannot work are refused with a remedy") {
    WriterOptions options{
        .on_stalled_reader = StalledPolicy::Wait, .step_timeout_s = 5, .stall_timeout_s = 10};
    CHECK_THROWS_WITH_AS(validate("melt", options), doctest::Contains("raise step_timeout"),
                         InvalidArgument);
    options.full = FullPolicy::DiscardOldest;
    CHECK_NOTHROW(validate("melt", options));
}

TEST_CASE("a name is one file's name") {
    for (const std::string& name :
         {std::string(), std::string("a/b"), std::string(".hidden"), std::string(".."),
          std::string(129, 'a'), std::string("a b"), std::string("a\n"), std::string("Å")}) {
        CHECK_THROWS_WITH_AS(validate(name, WriterOptions{}), doctest::Contains("1 to 128 letters"),
                             InvalidArgument);
        CHECK_THROWS_AS(validate(name, ReaderOptions{}), InvalidArgument);
    }
    CHECK_NOTHROW(validate(std::string(128, 'a'), WriterOptions{}));
    CHECK_NOTHROW(validate("melt-2.run_3", WriterOptions{}));
}

TEST_CASE("choices by name") {
    CHECK(full_policies_from_name("block").queue == FullPolicy::Block);
    CHECK(full_policies_from_name("discard-newest").queue == FullPolicy::DiscardNewest);
    CHECK(full_policies_from_name("discard-oldest").queue == FullPolicy::DiscardOldest);
    CHECK(full_policies_from_name("spill").queue == FullPolicy::Spill);
    CHECK(full_policies_from_name("spill").disk == FullPolicy::Block);
    CHECK(full_policies_from_name("spill,discard-oldest").queue == FullPolicy::Spill);
    CHECK(full_policies_from_name("spill,discard-oldest").disk == FullPolicy::DiscardOldest);
    CHECK(steps_to_from_name("all") == StepsTo::All);
    CHECK(steps_to_from_name("round-robin") == StepsTo::RoundRobin);
    CHECK(steps_to_from_name("on-demand") == StepsTo::OnDemand);
    CHECK(stalled_policy_from_name("evict") == StalledPolicy::Evict);
    CHECK(stalled_policy_from_name("wait") == StalledPolicy::Wait);
    CHECK(start_from_name("oldest") == Start::Oldest);
    CHECK(start_from_name("next") == Start::Next);
    CHECK(start_from_name("observe") == Start::Observe);
    CHECK_THROWS_WITH_AS(
        full_policies_from_name("drop"),
        doctest::Contains(
            "full: got 'drop'; allowed: 'block', 'discard-newest', 'discard-oldest', 'spill'"),
        InvalidArgument);
    CHECK_THROWS_WITH_AS(full_policies_from_name("spill,spill"),
                         doctest::Contains("got 'spill'; allowed: 'block', 'discard-newest', "
                                           "'discard-oldest'"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(stalled_policy_from_name(""), doctest::Contains("'evict', 'wait'"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(start_from_name("last"), doctest::Contains("'oldest', 'next', 'first'"),
                         InvalidArgument);
}

TEST_CASE("options of steps on a disk that cannot work together") {
    WriterOptions discards;
    discards.full = FullPolicy::DiscardOldest;
    discards.retain = "/tmp";
    CHECK_THROWS_WITH_AS(validate("a", discards), doctest::Contains("keeps each of its steps"),
                         InvalidArgument);
    WriterOptions no_disk;
    no_disk.on_full_disk = FullPolicy::DiscardNewest;
    CHECK_THROWS_WITH_AS(validate("a", no_disk), doctest::Contains("needs steps on a disk"),
                         InvalidArgument);
    no_disk.full = FullPolicy::Spill;
    CHECK_NOTHROW(validate("a", no_disk));
    no_disk.spill_bytes = -1;
    CHECK_THROWS_WITH_AS(validate("a", no_disk), doctest::Contains("spill_bytes"), InvalidArgument);
    WriterOptions bounded;
    bounded.retain = "/tmp";
    CHECK_NOTHROW(validate("a", bounded));
    bounded.spill_bytes = 1 << 20;
    CHECK_THROWS_WITH_AS(validate("a", bounded),
                         doctest::Contains("got spill_bytes=1048576 with retain='/tmp'"),
                         InvalidArgument);
    WriterOptions shared;
    shared.steps_to = StepsTo::OnDemand;
    CHECK_NOTHROW(validate("a", shared));
    shared.full = FullPolicy::Spill;
    CHECK_THROWS_WITH_AS(validate("a", shared), doctest::Contains("for all reading jobs alike"),
                         InvalidArgument);
    ReaderOptions loses;
    loses.full = FullPolicy::DiscardOldest;
    CHECK_NOTHROW(validate("a", loses));
    loses.resume = "plot";
    CHECK_THROWS_WITH_AS(validate("a", loses),
                         doctest::Contains("got full='discard-oldest' with resume='plot'"),
                         InvalidArgument);
    loses.full = FullPolicy::Spill;
    CHECK_NOTHROW(validate("a", loses));
    ReaderOptions looks_on;
    looks_on.start = Start::Observe;
    looks_on.full = FullPolicy::Spill;
    CHECK_NOTHROW(validate("a", looks_on));  // as a job script may say of all series
    ReaderOptions resumes;
    resumes.resume = "../up";
    CHECK_THROWS_WITH_AS(validate("a", resumes), doctest::Contains("resume cannot be used"),
                         InvalidArgument);
}
