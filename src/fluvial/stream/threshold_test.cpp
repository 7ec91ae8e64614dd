// SPDX-License-Identifier: Apache-2.0
// Threshold collectives. The last producer is the slow one.
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// All but the last rank only produce; the last one consumes, and so does the first of four.
Role role_here() {
    if (world_size() == 1) {
        return Role::Both;
    }
    if (world_rank() == world_size() - 1) {
        return Role::Consumer;
    }
    return world_size() == 4 && world_rank() == 0 ? Role::Both : Role::Producer;
}

bool is_slow(const Channel& channel) {
    return channel.producers().size() > 1 && channel.rank() == channel.producers().back();
}

std::vector<std::byte> number(std::int64_t x) {
    std::vector<std::byte> bytes(sizeof x);
    std::memcpy(bytes.data(), &x, sizeof x);
    return bytes;
}

std::int64_t number_in(std::span<const std::byte> bytes) {
    std::int64_t x = 0;
    std::memcpy(&x, bytes.data(), sizeof x);
    return x;
}

/// What producer p contributes to round r: known to all, so that each can tell the verdict.
std::int64_t value_of(std::size_t p, int round) {
    return static_cast<std::int64_t>((p * 7919 + static_cast<std::size_t>(round) * 104'729) % 10);
}

}  // namespace

TEST_CASE("bytes that are no summand are refused where they are given, and the channel goes on") {
    Channel channel = world_channel(role_here());
    auto over = ThresholdCollective::sum_over(channel, 0.5);
    if (produces(channel.role())) {
        const auto give = [&](const auto& value) {
            return over.contribute(std::as_bytes(std::span(&value, 1)));
        };
        CHECK_THROWS_WITH_AS(give(std::int32_t{1}),
                             doctest::Contains("got 4 bytes; allowed: the 8 bytes of a double"),
                             InvalidArgument);
        CHECK_THROWS_WITH_AS(over.contribute(std::span<const std::byte>()),
                             doctest::Contains("got 0 bytes"), InvalidArgument);
        CHECK_THROWS_WITH_AS(give(-1.0), doctest::Contains("negative or not a number: got -1"),
                             InvalidArgument);
        CHECK_THROWS_WITH_AS(give(std::numeric_limits<double>::quiet_NaN()),
                             doctest::Contains("negative or not a number: got nan"),
                             InvalidArgument);
        CHECK(give(1.0));
        CHECK(!over.contribute(0.0));
    }
    channel.close();
}

TEST_CASE("the verdict is there before the slow producer, when it is certain") {
    Channel channel = world_channel(role_here());
    auto over = ThresholdCollective::sum_over(channel, 0.5);
    const double delay_s = 0.4;
    if (produces(channel.role())) {
        const std::int64_t start = now_ns();
        if (is_slow(channel)) {
            nap(delay_s);
        }
        CHECK(over.contribute(1.0));
        const double took_s = static_cast<double>(now_ns() - start) * 1e-9;
        if (!is_slow(channel)) {
            CHECK(took_s < delay_s / 2);
        }
    }
    channel.close();
    if (channel.rank() == channel.consumers().front()) {
        CHECK(over.late() >= (channel.producers().size() > 1 ? 1 : 0));
    } else {
        CHECK(over.late() == 0);
    }
}

TEST_CASE("without certainty it waits for all, and a false one is false everywhere") {
    Channel channel = world_channel(role_here());
    auto over = ThresholdCollective::sum_over(channel, 100);
    const double delay_s = 0.2;
    if (produces(channel.role())) {
        const std::int64_t start = now_ns();
        if (is_slow(channel)) {
            nap(delay_s);
        }
        CHECK_FALSE(over.contribute(1.0));
        const double took_s = static_cast<double>(now_ns() - start) * 1e-9;
        if (channel.producers().size() > 1) {
            CHECK(took_s >= delay_s * 0.9);
        }
    }
    channel.close();
    CHECK(over.late() == 0);
}

TEST_CASE("a hundred rounds with random delays: each verdict is the serial one") {
    for (const std::uint64_t ahead : {1, 3, 1024}) {
        CAPTURE(ahead);
        Channel channel = world_channel(role_here());
        const auto producers = channel.producers();
        const std::int64_t limit = 4 * static_cast<std::int64_t>(producers.size());
        ThresholdRule rule;
        rule.merge = [](std::vector<std::byte> a, std::span<const std::byte> b) {
            return number(number_in(a) + number_in(b));
        };
        rule.judge = [limit](std::span<const std::byte> sum, int count,
                             int of) -> std::optional<bool> {
            if (number_in(sum) > limit) {
                return true;
            }
            if (number_in(sum) + 9 * (of - count) <= limit) {
                return false;  // cannot get there
            }
            return std::nullopt;
        };
        rule.rounds_ahead = ahead;
        ThresholdCollective over(channel, rule);
        if (produces(channel.role())) {
            const auto mine = static_cast<std::size_t>(
                std::find(producers.begin(), producers.end(), channel.rank()) - producers.begin());
            const unsigned seed = 100 * static_cast<unsigned>(ahead) + static_cast<unsigned>(mine);
            std::mt19937 random(seed);
            CAPTURE(seed);
            for (int round = 0; round < 100; ++round) {
                if (random() % 8 == 0) {
                    nap(1e-3 * (random() % (is_slow(channel) ? 8 : 3)));
                }
                std::int64_t sum = 0;
                for (std::size_t p = 0; p < producers.size(); ++p) {
                    sum += value_of(p, round);
                }
                CAPTURE(round);
                CHECK(over.contribute(number(value_of(mine, round))) == (sum > limit));
            }
        }
        channel.close();
    }
}

TEST_CASE("a fast producer is held up at so many rounds ahead, and no earlier") {
    if (world_size() < 3) {
        return;
    }
    Channel channel = world_channel(role_here());
    auto over = ThresholdCollective::sum_over(channel, 0.5, 5);
    const double delay_s = 0.3;
    if (produces(channel.role())) {
        const std::int64_t start = now_ns();
        const auto seconds = [&] { return static_cast<double>(now_ns() - start) * 1e-9; };
        if (is_slow(channel)) {
            nap(delay_s);
        }
        for (int round = 0; round < 10; ++round) {
            CHECK(over.contribute(1.0));
            if (is_slow(channel)) {
                continue;
            }
            if (round < 5) {
                CHECK(seconds() < delay_s * 0.7);
            }
            if (round >= 5) {
                CHECK(seconds() >= delay_s * 0.9);
            }
        }
    }
    channel.close();
}

TEST_CASE("two collectives and a stream in one channel do not mix") {
    Channel channel = world_channel(role_here());
    auto small = ThresholdCollective::sum_over(channel, 0.5);
    auto large = ThresholdCollective::sum_over(channel, 1e6);
    std::int64_t elements = 0;
    Stream stream(channel, {.element = Element::of(DType::Float64)},
                  make_elements<double>([&](double) { ++elements; }));
    if (produces(channel.role())) {
        for (int round = 0; round < 20; ++round) {
            stream.put(1.0);
            CHECK(small.contribute(1.0));
            CHECK_FALSE(large.contribute(1.0));
        }
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
    CHECK(sum_over_world(elements) == 20 * static_cast<std::int64_t>(channel.producers().size()));
    channel.close();
}

TEST_CASE("what is refused, and what a rule throws") {
    {
        Channel channel = world_channel(role_here());
        auto over = ThresholdCollective::sum_over(channel, 1);
        if (produces(channel.role())) {
            CHECK_THROWS_AS(over.contribute(-1.0), InvalidArgument);
            CHECK_THROWS_AS(over.contribute(std::numeric_limits<double>::quiet_NaN()),
                            InvalidArgument);
        } else {
            CHECK_THROWS_WITH_AS(over.contribute(1.0), doctest::Contains("does not produce"),
                                 InvalidArgument);
        }
        CHECK_THROWS_AS(ThresholdCollective::sum_over(channel, 1, 0), InvalidArgument);
        channel.close();
    }
    Channel channel = world_channel(role_here());
    ThresholdRule rule;
    rule.merge = [](std::vector<std::byte> a, std::span<const std::byte>) { return a; };
    rule.judge = [](std::span<const std::byte>, int, int) -> std::optional<bool> {
        throw OutOfRange("no verdict on this");
    };
    const auto part = [&] {
        ThresholdCollective broken(channel, rule);
        if (produces(channel.role())) {
            broken.contribute(1.0);
        }
        channel.close();
    };
    CHECK_THROWS_WITH_AS(part(), doctest::Contains("no verdict on this"), OutOfRange);
    channel.close();
}
