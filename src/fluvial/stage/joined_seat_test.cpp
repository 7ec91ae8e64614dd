// SPDX-License-Identifier: Apache-2.0
/// Places with a writer on several hosts, of which one does not do as the others do.
#include "fluvial/stage/joined_seat.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"

using namespace fluvial;
using namespace fluvial::stage;

namespace {

class NoData final : public StepAccess {
  public:
    std::shared_ptr<const std::byte> load(const Chunk&, DType, const std::string&) override {
        return nullptr;
    }
    void finish() override {}
    bool inherited() const override { return false; }
};

/// A host of the writer that has some steps, and then no more for now.
struct Host final : Seat {
    explicit Host(std::deque<std::uint64_t> has = {}) : steps(std::move(has)) {}
    using Seat::next;
    std::optional<OpenedStep> next(HandleLock::Call&, const Deadline& deadline,
                                   std::optional<std::uint64_t>) override {
        const std::int64_t end_ns = now_ns() + deadline.left_ns();
        earliest_ns = std::min(earliest_ns, end_ns);
        latest_ns = std::max(latest_ns, end_ns);
        ++calls;
        if (chased && steps.empty()) {
            steps.push_back(last + 2);
        }
        wait_until([&] { return !steps.empty(); }, deadline, "no step");
        OpenedStep step;
        step.index = last = steps.front();
        steps.pop_front();
        step.access = std::make_shared<NoData>();
        return step;
    }
    void look_for_failure() override {
        if (stalled) {
            throw PeerStalled("no heartbeat");
        }
    }
    void wait_for_others() override {}
    bool shares_out() const override { return false; }
    SeriesDescription series() override { return {}; }
    SeatStats stats(std::uint64_t) const override {
        SeatStats stats{};
        stats.steps_discarded = discarded;
        return stats;
    }
    StreamStatus status() override { return {}; }
    bool disk_was_full() const override { return false; }
    std::string host() const override { return "node17"; }
    std::string transport() const override { return "tcp"; }
    void wake() override {}
    void leave() override {}

    std::deque<std::uint64_t> steps;
    std::uint64_t last = 0;
    std::uint64_t discarded = 0;
    bool chased = false;  ///< as one that looks on: there is always a newer step
    bool stalled = false;
    int calls = 0;
    std::int64_t earliest_ns = std::numeric_limits<std::int64_t>::max(), latest_ns = 0;
};

struct TwoHosts {
    explicit TwoHosts(std::uint64_t from = 0) : joined{{{first, {0}}, {second, {1}, from}}} {}
    std::optional<OpenedStep> next(double step_timeout_s) {
        HandleLock::Call call(handle, "a test");
        return joined.next(call, Deadline(step_timeout_s));
    }
    HandleLock handle;
    std::shared_ptr<Host> first = std::make_shared<Host>();
    std::shared_ptr<Host> second = std::make_shared<Host>();
    JoinedSeat joined;
};

}  // namespace

TEST_CASE("what happens on one host is seen while a step of another is waited for") {
    for (const bool of_first : {false, true}) {
        TwoHosts hosts;
        (of_first ? hosts.first : hosts.second)->stalled = true;
        CHECK_THROWS_AS(hosts.next(20), PeerStalled);
        (of_first ? hosts.first : hosts.second)->stalled = false;
        hosts.first->steps = hosts.second->steps = {5};
        CHECK(hosts.next(20)->index == 5);
    }
}

TEST_CASE("a host whose step is there already is not looked at for one") {
    TwoHosts hosts;
    hosts.first->steps = {5};
    CHECK_THROWS_AS(hosts.next(0.2), TimedOut);
    hosts.first->stalled = true;
    CHECK_THROWS_AS(hosts.next(0.2), TimedOut);
    hosts.second->steps = {5};
    CHECK(hosts.next(20)->index == 5);
}

TEST_CASE("all hosts have one time, also where each is always ahead of the other") {
    TwoHosts hosts;
    hosts.first->chased = hosts.second->chased = true;
    hosts.second->last = 1;
    CHECK_THROWS_WITH_AS(hosts.next(0.2), doctest::Contains("that all hosts of the writer have"),
                         TimedOut);
    CHECK(hosts.first->calls > 1);
    for (const auto& host : {hosts.first, hosts.second}) {
        CHECK(host->latest_ns - host->earliest_ns < 100'000'000);
    }
}

TEST_CASE("a step that one host has discarded is lost, whichever that is") {
    TwoHosts hosts;
    hosts.first->steps = {2, 4, 5, 6};   // without 0, 1 and 3
    hosts.second->steps = {0, 2, 3, 6};  // without 1, 4 and 5
    hosts.first->discarded = hosts.second->discarded = 3;
    CHECK(hosts.next(20)->index == 2);
    CHECK(hosts.next(20)->index == 6);
    CHECK(hosts.joined.stats(7).steps_discarded == 5);
    CHECK(hosts.joined.stats(7).steps_taken == 2);
}

TEST_CASE("what one host had before the reader came to the other was not discarded") {
    TwoHosts hosts(2);
    hosts.first->steps = {0, 1, 3};
    hosts.second->steps = {2, 3};
    hosts.first->discarded = 1;
    CHECK(hosts.next(20)->index == 3);
    CHECK(hosts.joined.stats(4).steps_discarded == 1);
}
