// SPDX-License-Identifier: Apache-2.0
// What is left of a Channel, Stream or ThresholdCollective that has been moved.
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

const char* const moved =
    "this object has been moved from: got an empty object; allowed: the one that it was moved to";

/// Adds all numbers up in `total`.
Stream sum_into(std::int64_t& total, Channel& channel) {
    return {channel, whole_numbers(),
            make_elements<std::int64_t>([&total](std::int64_t value) { total += value; })};
}

}  // namespace

TEST_CASE("a stream that has been moved from sends nothing, also when the other one is gone") {
    Channel channel = world_channel(Role::Both);
    std::int64_t total = 0;
    Stream stream = sum_into(total, channel);
    const std::int64_t one = 1;
    stream.put(one);  // from here on there is a link that it writes to at once
    std::optional<Stream> same = std::move(stream);
    const auto refuses = [&] {
        CHECK_THROWS_WITH_AS(stream.put(one), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.send(&one), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.isend(&one), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.send_record({}), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.reserve(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.reserve_many(2), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.commit(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.flush(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.terminate(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.query(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.operate(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.operate_some(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.next(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.ended(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.result(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.statistics(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.number(), moved, InvalidArgument);
        CHECK_THROWS_WITH_AS(stream.state(), moved, InvalidArgument);
    };
    refuses();
    same->put(std::int64_t{2});
    same->terminate();
    same->operate();
    CHECK(total == 3);
    same.reset();
    refuses();
    channel.close();
}

TEST_CASE("a stream that another one is moved into is that one") {
    Channel channel = world_channel(Role::Both);
    std::int64_t first = 0;
    std::int64_t second = 0;
    Stream stream = sum_into(first, channel);
    stream.put(std::int64_t{1});
    stream = sum_into(second, channel);
    stream.put(std::int64_t{2});
    Stream& same = stream;
    stream = std::move(same);
    stream.put(std::int64_t{4});
    channel.close();  // ends the first one, too
    CHECK(first == 1);
    CHECK(second == 6);
}

TEST_CASE("a channel that has been moved from is refused") {
    Channel channel = world_channel(Role::Both);
    Channel same = std::move(channel);
    CHECK_THROWS_WITH_AS(channel.role(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.rank(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.size(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.members(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.producers(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.consumers(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.progress(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(channel.close(), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(Stream(channel, whole_numbers()), moved, InvalidArgument);
    CHECK_THROWS_WITH_AS(ThresholdCollective::sum_over(channel, 1), moved, InvalidArgument);
    channel.abandon("there is nothing to leave");
    CHECK(same.role() == Role::Both);
    ThresholdCollective threshold = ThresholdCollective::sum_over(same, 1);
    ThresholdCollective same_threshold = std::move(threshold);
    CHECK_THROWS_WITH_AS(threshold.contribute(1.0), moved, InvalidArgument);
    CHECK_FALSE(same_threshold.contribute(0.0));
    same.close();
}

TEST_CASE("a channel that is moved into itself stays as it is") {
    Channel channel = world_channel(Role::Both);
    Channel& same = channel;
    channel = std::move(same);
    std::int64_t total = 0;
    Stream stream = sum_into(total, channel);
    stream.put(std::int64_t{1});
    channel.close();
    CHECK(total == 1);
}
