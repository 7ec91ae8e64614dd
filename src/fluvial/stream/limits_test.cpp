// SPDX-License-Identifier: Apache-2.0
/// Arguments at the edge, and waits that nothing could end.
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/move/message_flow.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;

TEST_CASE("a rank that fills its own buffer, which only next() empties, is told so") {
    for (const bool shared : {true, false}) {
        for (const int way : {0, 1, 2, 3, 4}) {
            CAPTURE(shared);
            CAPTURE(way);
            Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
            StreamOptions options = whole_numbers(8192 * static_cast<std::size_t>(world_size()));
            if (way == 1) {
                options.association = Association::round_robin();
            }
            Stream stream(channel, options);
            const std::vector<std::int64_t> many(40'000, 3);
            Pending pending;
            const auto fill = [&] {
                if (way == 0) {
                    stream.send(many.data(), 40'000);
                }
                if (way == 1) {
                    stream.send(many.data(), 40'000);
                }
                for (int i = 0; way == 2 && i < 40'000; ++i) {
                    stream.reserve_many(1);
                    stream.commit();
                }
                if (way >= 3) {
                    pending = stream.isend(many.data(), 40'000);
                }
                if (way == 3) {
                    pending.wait();
                }
                if (way == 4) {
                    stream.terminate();
                }
            };
            CHECK_THROWS_WITH_AS(fill(), doctest::Contains("next()"), InvalidArgument);
            world().barrier();
            channel.abandon("full");
            world().barrier();
        }
    }
}

TEST_CASE("a rank that sends to itself and takes in between goes on for ever") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        Stream stream(channel, whole_numbers(1 << 16));
        const std::vector<std::int64_t> many(100'000, 3);
        Pending pending = stream.isend(many.data(), 100'000);
        Pending end;
        std::int64_t sum = 0;
        std::size_t taken = 0;
        while (auto batch = stream.next()) {
            const std::span values(reinterpret_cast<const std::int64_t*>(batch->data),
                                   batch->bytes / 8);
            for (const std::int64_t value : values) {
                sum += value;
            }
            taken += values.size();
            if (taken == many.size()) {
                CHECK(pending.test());
                end = stream.iterminate();
            }
        }
        CHECK(sum == 300'000);
        channel.close();
    }
}

TEST_CASE("a rank that takes elements by next() serves queries before it takes more") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(world_rank() == 0 ? Role::Producer : Role::Consumer);
    StreamOptions options = whole_numbers();
    options.element = Element::of(DType::Int64, {8192});  // one is a batch
    options.buffer_bytes = 32 << 20;
    options.association = Association::round_robin();
    Stream stream(channel, options);
    if (produces(channel.role())) {
        const std::vector<std::int64_t> element(8192, 1);
        const auto elements = 20 * channel.consumers().size();
        for (std::size_t i = 0; i < elements; ++i) {
            stream.send(element.data());
        }
        const Outcome found = stream.query();
        CHECK(found.elements < elements);
        stream.terminate();
    } else {
        while (stream.next()) {
            nap(0.02);
        }
    }
    channel.close();
}

TEST_CASE("a rank that takes elements by next() is told of a failure while there are more") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(world_rank() == 0 ? Role::Producer : Role::Consumer);
    StreamOptions options = whole_numbers();
    options.element = Element::of(DType::Int64, {8192});
    options.buffer_bytes = 32 << 20;
    options.association = Association::round_robin();
    Stream stream(channel, options);
    if (produces(channel.role())) {
        const std::vector<std::int64_t> element(8192, 1);
        for (std::size_t i = 0; i < 30 * channel.consumers().size(); ++i) {
            stream.send(element.data());
        }
        channel.abandon("no more");
    } else {
        int taken = 0;
        const auto take = [&] {
            for (; stream.next(); ++taken) {
                nap(0.02);
            }
        };
        CHECK_THROWS_WITH_AS(take(), doctest::Contains("no more"), Error);
        CHECK(taken < 30);
    }
    channel.close();
    world().barrier();
}

TEST_CASE("a channel does not end with a reservation open, and a late commit is refused") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(Role::Both, {.shared_memory = shared});
        Stream stream(channel, whole_numbers(), make_callback([](const Batch&) {}));
        const bool opens = world_rank() == 0;
        if (opens) {
            stream.reserve();
        }
        CHECK_THROWS_WITH_AS(channel.close(), doctest::Contains("reservation in numbers"),
                             InvalidArgument);
        CHECK_THROWS_AS(stream.commit(), Error);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("parts of an element are not strewn over consumers") {
    Channel channel = world_channel(Role::Both);
    StreamOptions options = whole_numbers();
    options.element = Element::of(DType::Int64, {100'000});
    options.association = Association::round_robin();
    Stream stream(channel, options, make_callback([](const Batch&) {}, true));
    CHECK_THROWS_WITH_AS(stream.reserve(), doctest::Contains("in parts"), InvalidArgument);
    if (world_size() > 1) {
        CHECK_THROWS_WITH_AS(stream.reserve_many(1), doctest::Contains("in parts"),
                             InvalidArgument);
    } else {
        CHECK(!stream.reserve_many(1).empty());
        stream.commit(0);
    }
    channel.close();
}

TEST_CASE("an isend that breaks off in the middle ends the channel") {
    Channel channel = world_channel(Role::Both);
    StreamOptions options = whole_numbers();
    int chosen = 0;
    options.association = Association::by([&](auto) -> std::uint64_t {
        if (++chosen == 3) {
            throw OutOfRange("no consumer for this");
        }
        return 0;
    });
    Stream stream(channel, options, make_callback([](const Batch&) {}));
    const std::vector<std::int64_t> five(5, 1);
    if (world_size() > 1 && world_rank() == world_size() - 1) {
        CHECK_THROWS_WITH_AS(stream.isend(five.data(), 5),
                             doctest::Contains("no consumer for this"), OutOfRange);
    } else if (world_size() > 1) {
        CHECK_THROWS_WITH_AS(channel.close(), doctest::Contains("no consumer for this"),
                             OutOfRange);
    }
    channel.close();
    world().barrier();
}

TEST_CASE("numbers that make no sense are refused on all ranks") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double timeout_s : {-1.0, 0.0, nan}) {
        CHECK_THROWS_WITH_AS(world_channel(Role::Both, {.timeout_s = timeout_s}),
                             doctest::Contains("timeout_s"), InvalidArgument);
    }
    for (const double dead_after_s : {-1.0, 0.0, nan}) {
        CHECK_THROWS_WITH_AS(world_channel(Role::Both, {.dead_after_s = dead_after_s}),
                             doctest::Contains("dead_after_s"), InvalidArgument);
    }
    CHECK_THROWS_WITH_AS(world_channel(world_rank() == 0 ? static_cast<Role>(99) : Role::Both),
                         doctest::Contains("got number 99; allowed: 0 to 3"), InvalidArgument);
    Channel channel =
        world_channel(Role::Both, {.timeout_s = std::numeric_limits<double>::infinity()});
    StreamOptions unknown = whole_numbers();
    unknown.association.kind = static_cast<Association::Kind>(4);
    CHECK_THROWS_WITH_AS(Stream(channel, unknown), doctest::Contains("kind of an association"),
                         InvalidArgument);
    for (const double latency_s : {-1e-3, nan, 1e30, std::numeric_limits<double>::infinity()}) {
        StreamOptions options = whole_numbers();
        options.latency_s = latency_s;
        CHECK_THROWS_WITH_AS(Stream(channel, options), doctest::Contains("latency_s"),
                             InvalidArgument);
    }
    StreamOptions huge = whole_numbers(~std::size_t{0});
    CHECK_THROWS_WITH_AS(Stream(channel, huge), doctest::Contains("buffer_bytes"), InvalidArgument);
    Stream stream(channel, whole_numbers(), make_callback([](const Batch&) {}));
    const std::int64_t value = 1;
    CHECK_THROWS_AS(stream.send(&value, std::numeric_limits<Index>::max() / 2), InvalidArgument);
    CHECK_THROWS_AS(stream.isend(&value, (Index{1} << 61) + 1), InvalidArgument);
    CHECK_THROWS_WITH_AS(stream.send(nullptr), doctest::Contains("null"), InvalidArgument);
    stream.send(nullptr, 0);
    channel.close();
}

TEST_CASE("more streams than there are tags are refused, and none before") {
    if (world_size() < 2) {
        return;
    }
    progress::ControlMessages control(world());
    move::LinkPlan plan;
    plan.buffer_bytes = 4096;
    plan.stream = move::streams_max;
    CHECK_THROWS_WITH_AS(move::make_message_outlet(plan, world(), control, 0),
                         doctest::Contains("too many streams"), InvalidArgument);
    CHECK_THROWS_WITH_AS(move::make_message_inlet(plan, world(), {0}),
                         doctest::Contains("too many streams"), InvalidArgument);
    plan.stream = move::streams_max - 1;
    CHECK_NOTHROW(move::make_message_outlet(plan, world(), control, 0));
    CHECK_NOTHROW(move::make_message_inlet(plan, world(), {0}));
    world().barrier();
}

TEST_CASE("rounds without a limit on how far a rank is ahead") {
    Channel channel = world_channel(Role::Both);
    auto over =
        ThresholdCollective::sum_over(channel, 0.5, std::numeric_limits<std::uint64_t>::max());
    for (int round = 0; round < 5; ++round) {
        CHECK(over.contribute(1.0));
    }
    channel.close();
}

TEST_CASE("after a time-out the same round is waited for, and no later one is spoiled") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(Role::Both, {.timeout_s = 1});
    auto all = ThresholdCollective::sum_over(channel, 1.5 * world_size());
    const auto contribute = [&](double value) {
        for (;;) {
            try {
                return all.contribute(value);
            } catch (const TimedOut&) {
            }
        }
    };
    if (world_rank() == 0) {
        nap(1.6);
    }
    CHECK_FALSE(contribute(1));  // all of them
    CHECK(contribute(2));
    CHECK_FALSE(contribute(1));
    channel.close();
}

TEST_CASE("a producer that closes while others contribute is an error and no hang") {
    if (world_size() < 2) {
        return;
    }
    for (const std::uint64_t ahead : {1, 1024}) {
        CAPTURE(ahead);
        Channel channel = world_channel(Role::Both, {.timeout_s = 20});
        auto over = ThresholdCollective::sum_over(channel, 0.5, ahead);
        CHECK(over.contribute(1));
        const auto part = [&] {
            if (world_rank() == 0) {
                channel.close();
            }
            CHECK(over.contribute(1));  // certain without rank 0
            CHECK(over.contribute(1));
            static_cast<void>(over.contribute(0));  // not this one
        };
        CHECK_THROWS_WITH_AS(part(), doctest::Contains("closes the channel"), InvalidArgument);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("the flusher leaves with a channel that has failed") {
    if (mpi::thread_level() != mpi::ThreadLevel::Multiple || world_size() < 2) {
        return;
    }
    REQUIRE(flushers() == 0);
    Channel channel = world_channel(halves(), {.shared_memory = false});
    Stream stream(channel, whole_numbers(), make_callback([](const Batch&) {}));
    if (produces(channel.role())) {
        stream.put(std::int64_t{1});
        CHECK(flushers() == 1);
    }
    if (world_rank() == 0) {
        channel.abandon("enough");
    } else {
        CHECK_THROWS_AS(channel.close(), Error);
    }
    CHECK(flushers() == 0);
    CHECK_THROWS_AS(stream.put(std::int64_t{1}), Error);
    world().barrier();
}

TEST_CASE("room that is given back is nobody's turn") {
    Channel channel = world_channel(Role::Both);
    StreamOptions options = whole_numbers();
    options.association = Association::round_robin();
    std::size_t got = 0;
    Stream stream(channel, options, make_elements<std::int64_t>([&](std::int64_t) { ++got; }));
    for (std::int64_t i = 0; i < 4 * world_size(); ++i) {
        stream.reserve();
        stream.commit(0);
        stream.put(i);
    }
    channel.close();
    CHECK(got == 4 * static_cast<std::size_t>(world_size()));
}

TEST_CASE("no element is sent while others wait for room") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        std::size_t got = 0;
        Stream stream(channel, whole_numbers(8192 * static_cast<std::size_t>(world_size())),
                      make_batches<std::int64_t>(
                          [&](std::span<const std::int64_t> batch) { got += batch.size(); }));
        const std::vector<std::int64_t> many(40'000, 3);
        Pending pending = stream.isend(many.data(), 40'000);
        const std::uint64_t stalls = stream.statistics().stalls;
        stream.send(many.data(), 0);
        stream.isend(many.data(), 0).wait();
        CHECK(stream.statistics().stalls == stalls);
        pending.wait();
        stream.send(many.data(), 1);
        channel.close();
        CHECK(world().sum(static_cast<Index>(got)) == 40'001 * world_size());
    }
}

TEST_CASE("records are sent without blocking, in order with those that are") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        StreamOptions options;
        options.element = Element::varying(1000);
        options.buffer_bytes = 16'384;
        std::vector<std::size_t> lengths;
        Stream stream(channel, options, make_callback([&](const Batch& batch) {
                          for_each_record(batch, [&](std::span<const std::byte> record) {
                              lengths.push_back(record.size());
                              CHECK((record.empty() ||
                                     record.back() == static_cast<std::byte>(record.size())));
                          });
                      }));
        std::vector<Pending> pending;
        for (std::size_t n = 0; n < 500; ++n) {
            auto record =
                std::make_shared<std::vector<std::byte>>(2 * n, static_cast<std::byte>(2 * n));
            if (n % 7 == 3) {
                stream.send_record(*record);
            } else {
                pending.push_back(stream.isend_record(*record, record));
            }
        }
        CHECK_THROWS_AS(stream.isend_record(std::vector<std::byte>(1001)), InvalidArgument);
        for (Pending& one : pending) {
            one.wait();
        }
        CHECK(stream.statistics().sent_elements == 500);
        channel.close();
        REQUIRE(lengths.size() == 500);
        for (std::size_t n = 0; n < 500; ++n) {
            CHECK(lengths[n] == 2 * n);
        }
    }
}
