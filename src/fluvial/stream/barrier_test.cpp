// SPDX-License-Identifier: Apache-2.0
/// Calls that all ranks make together, when one of them breaks off, or does something else.
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/stream/channel_fixture.hpp"
#include "fluvial/stream/channel_state.hpp"
#include "fluvial/stream/threshold_collective.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// The first look around takes long, so that all others come in the meantime, and then throws.
class Interrupt {
  public:
    explicit Interrupt(double pause_s, std::function<void()> before = [] {}) {
        set_interrupt_check([pause_s, before = std::move(before)] {
            before();
            nap(pause_s);
            throw std::runtime_error("interrupted by the user");
        });
    }
    Interrupt(const Interrupt&) = delete;
    ~Interrupt() {
        set_interrupt_check([] {});
    }
};

template <class Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

bool says(const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
}

bool same_everywhere(bool here) {
    return world().all(here) || !world().any(here);
}

}  // namespace

TEST_CASE("a rank that is interrupted while others are through already leaves no rank behind") {
    if (world_size() < 2) {
        return;
    }
    for (const bool closes : {true, false}) {
        CAPTURE(closes);
        Channel channel = world_channel(halves());
        Stream stream(channel, {.element = Element::of(DType::Int64)},
                      make_callback([](const Batch&) {}));
        const auto come = [&] {
            if (closes) {
                channel.close();
            } else {
                const Stream second(channel, {.element = Element::of(DType::Int64)});
            }
        };
        std::string message;
        if (world_rank() == 0) {
            if (closes) {
                stream.terminate();
            }
            std::vector<mpi::Request> calls;
            const Interrupt interrupt(0.5, [&] {
                if (!calls.empty()) {
                    return;
                }
                for (int other = 1; other < world_size(); ++other) {
                    calls.push_back(world().isend(std::vector<std::byte>(1), other, 1));
                }
            });
            message = message_of(come);
            for (mpi::Request& call : calls) {
                call.wait();
            }
        } else {
            world().recv(0, 1);  // comes while rank 0 looks around
            message = message_of(come);
        }
        INFO(message);
        CHECK(says(message, "interrupted by the user"));
        channel.close();
        world().barrier();
    }
}

TEST_CASE("an operation that throws while a stream is attached throws on all ranks or on none") {
    if (world_size() < 2) {
        return;
    }
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        Channel channel = world_channel(halves());
        Stream stream(channel, {.element = Element::of(DType::Int64)},
                      make_callback([](const Batch&) { throw OutOfRange("not this one"); }));
        if (produces(channel.role())) {
            stream.put(std::int64_t{1});
            nap(1e-5 * (round % 10));
        } else {
            nap(1e-5 * (round / 10));
        }
        const std::string message =
            message_of([&] { const Stream second(channel, {.element = Element::opaque(8)}); });
        CHECK(same_everywhere(message.empty()));
        if (message.empty()) {
            CHECK_THROWS_AS(channel.close(), Error);
        }
        channel.close();
        world().barrier();
    }
}

TEST_CASE("ranks that do different things together are told so") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves());
    const std::string message = message_of([&] {
        if (world_rank() == 0) {
            const Stream stream(channel, {.element = Element::of(DType::Int64)});
        } else {
            channel.close();
        }
    });
    INFO(message);
    CHECK(says(message, "attach a stream"));
    CHECK(says(message, "close the channel"));
    channel.close();
    world().barrier();
}

TEST_CASE("a producer that attaches while others close, and wait for it, is told so") {
    if (world_size() < 2) {
        return;
    }
    for (const bool has_operation : {true, false}) {
        Channel channel = world_channel(halves(), {.timeout_s = 20});
        std::optional<Stream> first(std::in_place, channel, whole_numbers(),
                                    has_operation ? make_callback([](const Batch&) {}) : nullptr);
        const std::int64_t begin_ns = now_ns();
        const std::string message = message_of([&] {
            if (world_rank() == 0) {
                const Stream second(channel, whole_numbers());
            } else {
                channel.close();
            }
        });
        INFO(message);
        CHECK(says(message, "rank 0 of"));
        CHECK(says(message, "attach a stream on some, close the channel on others"));
        CHECK(now_ns() - begin_ns < 10'000'000'000);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("an operation that still sends to a rank that waits to attach is served") {
    Channel channel = world_channel(Role::Both, {.timeout_s = 20});
    std::int64_t seen = 0;
    const StreamOptions small{.element = Element::of(DType::Int64),
                              .buffer_bytes = 4096 * static_cast<std::size_t>(world_size()),
                              .association = Association::round_robin()};
    Stream second(channel, small, make_elements<std::int64_t>([&](std::int64_t) { ++seen; }));
    Stream first(channel, small, make_elements<std::int64_t>([&](std::int64_t) {
                     for (int i = 0; i < 3000; ++i) {
                         second.put(std::int64_t{i});
                     }
                 }));
    for (int i = 0; i < world_size(); ++i) {
        first.put(std::int64_t{i});
    }
    const Stream third(channel, small, make_callback([](const Batch&) {}));
    first.terminate();
    first.operate();
    channel.close();
    CHECK(sum_over_world(seen) == std::int64_t{3000} * world_size() * world_size());
}

namespace {

enum class Way { Reserve, ReserveMany, Record, Flush, Wait, Terminate };
constexpr std::array ways = {Way::Reserve, Way::ReserveMany, Way::Record,
                             Way::Flush,   Way::Wait,        Way::Terminate};

/// 0 to 499, more than there is room for.
void send_numbers(Stream& stream, Way way) {
    constexpr std::int64_t count = 500;
    std::vector<std::int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<Pending> pending;
    for (std::int64_t& number : numbers) {
        switch (way) {
            case Way::Reserve:
                std::memcpy(stream.reserve().data(), &number, sizeof number);
                stream.commit();
                break;
            case Way::ReserveMany:
                std::memcpy(stream.reserve_many(3).data(), &number, sizeof number);
                stream.commit(number % 2);  // gives back what is even
                stream.put(number % 2 == 0 ? number : -1);
                break;
            case Way::Record:
                std::memcpy(stream.reserve(sizeof number).data(), &number, sizeof number);
                stream.commit();
                break;
            case Way::Flush:
                stream.put(number);
                break;
            case Way::Wait:
            case Way::Terminate:
                pending.push_back(stream.isend(&number));
                break;
        }
    }
    if (way == Way::Flush) {
        stream.flush();
    }
    if (way == Way::Terminate) {
        stream.terminate();
    }
    if (way == Way::Wait) {
        for (Pending& one : pending) {
            one.wait();
        }
    }
    std::fill(numbers.begin(), numbers.end(), -2);
}

/// Of one producer and at one consumer. Numbers below zero are none.
void check_order(const Batch& batch, Way way, std::vector<std::int64_t>& last, std::int64_t& seen) {
    std::int64_t& before = last[static_cast<std::size_t>(batch.producer)];
    const auto look = [&](std::span<const std::byte> element) {
        std::int64_t number = 0;
        std::memcpy(&number, element.data(), sizeof number);
        CHECK(number > -2);
        if (number < 0) {
            return;
        }
        CHECK(number > before);
        before = number;
        ++seen;
    };
    if (way == Way::Record) {
        return for_each_record(batch, look);
    }
    for (std::size_t at = 0; at < batch.bytes; at += 8) {
        look({batch.data + at, 8});
    }
}

}  // namespace

TEST_CASE("an operation sends while others are through with a barrier") {
    if (world_size() < 2) {
        return;
    }
    const auto ranks = static_cast<std::size_t>(world_size());
    const bool works = world_rank() == world_size() - 1;
    for (int attempt = 0, done = 0; done < 2; ++attempt) {
        REQUIRE(attempt < 40);
        const bool shared = done == 0;
        CAPTURE(shared);
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        StreamOptions small = whole_numbers(1024 * ranks);
        small.association = Association::round_robin();
        std::int64_t seen = 0;
        std::vector<std::vector<std::int64_t>> last(ways.size(),
                                                    std::vector<std::int64_t>(ranks, -1));
        std::vector<Stream> numbers;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            small.element =
                ways[i] == Way::Record ? Element::varying(16) : Element::of(DType::Int64);
            numbers.emplace_back(channel, small, make_callback([&, i](const Batch& batch) {
                                     check_order(batch, ways[i], last[i], seen);
                                 }));
        }
        std::int64_t inside = 0;
        bool attached = false;
        const std::int64_t again = 0;
        std::optional<Stream> work;
        work.emplace(channel, whole_numbers(), make_callback([&](const Batch&) {
                         if (!attached && inside == 0) {
                             work->isend(&again);  // come back
                         }
                         if (channel.state()->may_wait() || inside > 0) {
                             return;
                         }
                         ++inside;
                         nap(0.6);
                         for (std::size_t i = 0; i < ways.size(); ++i) {
                             send_numbers(numbers[i], ways[i]);
                         }
                     }));
        if (works) {
            nap(0.25);
            work->put(again);
        } else {  // looks around when the last rank comes, and hurries to the end afterwards
            set_interrupt_check([] { nap(0.4); });
        }
        const Stream third(channel, small, make_callback([](const Batch&) {}));
        set_interrupt_check([] {});
        attached = true;
        channel.close();
        const bool tried = world().any(inside > 0);
        CHECK(sum_over_world(seen) == (tried ? 500 * std::ssize(ways) : 0));
        done += tried ? 1 : 0;
    }
}

TEST_CASE("a threshold that is wrong on one rank is refused on all") {
    Channel channel = world_channel(halves());
    const std::uint64_t ahead = world_rank() == world_size() - 1 ? 0 : 1024;
    CHECK_THROWS_WITH_AS(ThresholdCollective::sum_over(channel, 1, ahead),
                         doctest::Contains("rounds_ahead"), InvalidArgument);
    const double limit = world_rank() == 0 ? std::numeric_limits<double>::quiet_NaN() : 1;
    CHECK_THROWS_WITH_AS(ThresholdCollective::sum_over(channel, limit), doctest::Contains("limit"),
                         InvalidArgument);
    auto over = ThresholdCollective::sum_over(channel, 0.5);
    if (produces(channel.role())) {
        CHECK(over.contribute(1.0));
    }
    channel.close();
}
