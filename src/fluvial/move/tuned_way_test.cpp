// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/tuned_way.hpp"

#include <functional>

#include <doctest/doctest.h>

using namespace fluvial::move;

namespace {

constexpr std::uint64_t element = std::uint64_t{64} << 10;
constexpr std::uint64_t settling = std::uint64_t{4} << 20;
constexpr std::uint64_t trial_bytes =
    TunedWay::rounds * (settling + static_cast<std::uint64_t>(TunedWay::round_bytes)) +
    settling;

/// Sends elements of which each takes `ns(second)`, and says how many bytes went the second way.
class Sender {
  public:
    explicit Sender(std::atomic<TunedWay::Last>& last) : way(last, settling, 1.1) {}
    std::uint64_t send(std::uint64_t bytes, const std::function<std::int64_t(bool)>& ns) {
        std::uint64_t second_bytes = 0;
        for (std::uint64_t sent = 0; sent < bytes; sent += element) {
            way.came_to(committed_, clock_ns_);
            second_bytes += way.second() ? element : 0;
            clock_ns_ += ns(way.second());
            committed_ += element;
        }
        return second_bytes;
    }
    TunedWay way;

  private:
    std::uint64_t committed_ = 0;
    std::int64_t clock_ns_ = 1;
};

std::int64_t faster_first(bool second) {
    return second ? 9000 : 8000;
}

std::int64_t faster_second(bool second) {
    return second ? 6000 : 10'000;
}

}  // namespace

TEST_CASE("both ways are tried, and the one that is faster by a tenth is taken") {
    for (const bool second : {false, true}) {
        std::atomic<TunedWay::Last> last{TunedWay::Last::Unknown};
        Sender sender(last);
        CHECK(!sender.way.second());
        const std::uint64_t tried =
            sender.send(trial_bytes, second ? faster_second : faster_first);
        CHECK(tried > trial_bytes / 4);
        CHECK(tried < 3 * trial_bytes / 4);
        CHECK(sender.way.second() == second);
        CHECK(last == (second ? TunedWay::Last::Second : TunedWay::Last::First));
        const std::uint64_t then = std::uint64_t{1} << 30;
        CHECK(sender.send(then, second ? faster_second : faster_first) == (second ? then : 0));
    }
}

TEST_CASE("what is faster by less than a tenth is not worth it") {
    std::atomic<TunedWay::Last> last{TunedWay::Last::Unknown};
    Sender sender(last);
    sender.send(trial_bytes, [](bool second) { return second ? 950 : 1000; });
    CHECK(!sender.way.second());
}

TEST_CASE("a new link begins with what was found last, and finds out when that has changed") {
    std::atomic<TunedWay::Last> last{TunedWay::Last::Second};
    Sender sender(last);
    CHECK(sender.way.second());
    CHECK(sender.send(TunedWay::first_rest_bytes, faster_first) ==
          TunedWay::first_rest_bytes);
    sender.send(trial_bytes, faster_first);
    CHECK(!sender.way.second());
    CHECK(last == TunedWay::Last::First);
}

TEST_CASE("what the other way has left behind does not count") {
    std::atomic<TunedWay::Last> last{TunedWay::Last::Unknown};
    Sender sender(last);
    bool was_second = false;
    std::uint64_t left = 0;
    // The first way is slow, but finds the memory free that the second has left.
    sender.send(trial_bytes, [&](bool second) -> std::int64_t {
        left = second == was_second ? left + element : 0;
        was_second = second;
        return second ? 6000 : left < settling ? 100 : 10'000;
    });
    CHECK(sender.way.second());
}
