// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stream/stream.hpp"

#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// The rank that sent it, and its number among those of this rank.
struct Numbered {
    std::int64_t producer;
    std::int64_t number;
};

std::unique_ptr<Operation> recording(std::map<std::int64_t, std::vector<std::int64_t>>& seen) {
    return make_elements<Numbered>(
        [&seen](const Numbered& e) { seen[e.producer].push_back(e.number); });
}

}  // namespace

TEST_CASE("every element arrives exactly once, in the order of its producer") {
    for (const Association& association : {Association::nearest(), Association::round_robin(),
                                           Association::most_room(), Association::by_key(8, 8)}) {
        for (const Role role : {Role::Both, halves()}) {
            for (const std::size_t buffer : {std::size_t{0}, std::size_t{8192}}) {
                Channel channel = world_channel(role);
                std::map<std::int64_t, std::vector<std::int64_t>> seen;
                Stream stream(channel,
                              {.element = Element::opaque(sizeof(Numbered)),
                               .buffer_bytes = buffer,
                               .association = association},
                              recording(seen));
                std::int64_t sent = 0;
                if (produces(channel.role()) && world_rank() != 1) {
                    const std::int64_t count = 5000 + 100 * world_rank();
                    std::vector<Numbered> rest;
                    for (; sent < count / 2; ++sent) {
                        stream.put(Numbered{world_rank(), sent});
                    }
                    for (; sent < count; ++sent) {
                        rest.push_back({world_rank(), sent});
                    }
                    stream.send(rest.data(), static_cast<Index>(rest.size()));
                }
                if (produces(channel.role())) {
                    stream.terminate();
                }
                if (consumes(channel.role())) {
                    stream.operate();
                }
                std::int64_t received = 0;
                for (const auto& [producer, numbers] : seen) {
                    CHECK(std::is_sorted(numbers.begin(), numbers.end(), std::less_equal<>()));
                    received += static_cast<std::int64_t>(numbers.size());
                }
                CHECK(sum_over_world(received) == sum_over_world(sent));
                channel.close();
            }
        }
    }
}

TEST_CASE("several streams of one channel, unequal in everything") {
    Channel channel = world_channel(halves());
    double sum = 0;
    std::int64_t bytes = 0;
    Stream small(channel, {.name = "small", .element = Element::of(DType::Float64)},
                 make_batches<double>([&](std::span<const double> x) {
                     sum = std::accumulate(x.begin(), x.end(), sum);
                 }));
    Stream large(channel, {.name = "large", .element = Element::of(DType::UInt8, {100'000})},
                 make_callback(
                     [&](const Batch& batch) { bytes += static_cast<std::int64_t>(batch.bytes); }));
    const std::vector<std::byte> block(100'000);
    if (produces(channel.role())) {
        for (int i = 0; i < 300; ++i) {
            small.put(1.0 * i);
            if (i % 10 == 0) {
                large.send(block.data());
            }
        }
        large.terminate();
        small.terminate();
    }
    if (consumes(channel.role())) {
        small.operate();
        large.operate();
    }
    const auto producers = static_cast<std::int64_t>(channel.producers().size());
    CHECK(sum_over_world(static_cast<std::int64_t>(sum)) == producers * 299 * 150);
    CHECK(sum_over_world(bytes) == producers * 30 * 100'000);
    channel.close();
}

TEST_CASE("an element larger than the buffer's parts flows through in parts, or whole") {
    const std::size_t doubles = 300'000;
    std::vector<double> element(doubles);
    std::iota(element.begin(), element.end(), 0.0);
    for (const bool parts : {true, false}) {
        Channel channel = world_channel(halves());
        double sum = 0;
        std::size_t longest = 0;
        Stream stream(
            channel,
            {.element = Element::of(DType::Float64, {static_cast<Index>(doubles)}),
             .buffer_bytes = parts ? std::size_t{4} << 20 : 0},
            make_callback(
                [&](const Batch& batch) {
                    longest = std::max(longest, batch.bytes);
                    const auto* x = reinterpret_cast<const double*>(batch.data);
                    for (std::size_t i = 0; i < batch.bytes / 8; ++i) {
                        // Its place in the element is known, whatever the parts.
                        CHECK(x[i] == static_cast<double>((batch.first / 8 + i) % doubles));
                        sum += x[i];
                    }
                },
                parts));
        if (produces(channel.role())) {
            for (int i = 0; i < 3; ++i) {
                stream.send(element.data());
            }
            stream.terminate();
        }
        if (consumes(channel.role())) {
            stream.operate();
            if (parts) {
                CHECK(longest < doubles * 8);
            }
            if (!parts && longest > 0) {
                CHECK(longest == doubles * 8);
            }
        }
        const double all = static_cast<double>(channel.producers().size()) * 3 * 0.5 *
                           static_cast<double>(doubles - 1) * static_cast<double>(doubles);
        CHECK(sum_over_world(static_cast<std::int64_t>(sum)) == static_cast<std::int64_t>(all));
        channel.close();
    }
}

TEST_CASE("large opaque elements are not cut inside of the values that they consist of") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        const std::vector<double> values(50'000, 1.25);
        double sum = 0;
        Stream stream(
            channel,
            {.element = Element::opaque(values.size() * sizeof(double)), .buffer_bytes = 1'200'003},
            make_batches<double>([&](std::span<const double> x) {
                CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % alignof(double) == 0);
                sum = std::accumulate(x.begin(), x.end(), sum);
            }));
        if (produces(channel.role())) {
            for (int i = 0; i < 20; ++i) {
                stream.send(values.data());
            }
            stream.terminate();
        }
        if (consumes(channel.role())) {
            stream.operate();
        }
        CHECK(sum_over_world(static_cast<std::int64_t>(sum)) ==
              static_cast<std::int64_t>(channel.producers().size()) * 20 * 62'500);
        channel.close();
    }
}

TEST_CASE("elements are written in place, one or many at a time") {
    Channel channel = world_channel(halves());
    std::map<std::int64_t, std::vector<std::int64_t>> seen;
    Stream stream(channel, {.element = Element::opaque(sizeof(Numbered)), .buffer_bytes = 65'536},
                  recording(seen));
    if (produces(channel.role())) {
        std::int64_t number = 0;
        while (number < 20'000) {
            const auto room = stream.reserve_many(700);
            auto* slots = reinterpret_cast<Numbered*>(room.data());
            const std::size_t count = room.size() / sizeof(Numbered);
            CHECK(count >= 1);
            CHECK(count <= 700);
            for (std::size_t i = 0; i < count; ++i) {
                slots[i] = {world_rank(), number++};
            }
            stream.commit(static_cast<Index>(count));
            const auto one = stream.reserve();
            CHECK_THROWS_AS(stream.put(Numbered{}), InvalidArgument);
            stream.commit(0);
            static_cast<void>(one);
        }
        CHECK_THROWS_WITH_AS(stream.commit(), doctest::Contains("nothing is reserved"),
                             InvalidArgument);
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
        for (const auto& [producer, numbers] : seen) {
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                CHECK(numbers[i] == static_cast<std::int64_t>(i));
            }
        }
    }
    channel.close();
}

TEST_CASE("elements of varying size, also none and the greatest") {
    Channel channel = world_channel(halves());
    std::int64_t elements = 0;
    std::int64_t bytes = 0;
    Stream stream(channel, {.element = Element::varying(1000), .buffer_bytes = 16'384},
                  make_callback([&](const Batch& batch) {
                      for_each_record(batch, [&](std::span<const std::byte> element) {
                          ++elements;
                          bytes += static_cast<std::int64_t>(element.size());
                          for (const std::byte b : element) {
                              CHECK(b == static_cast<std::byte>(element.size() % 251));
                          }
                      });
                  }));
    std::int64_t sent = 0;
    if (produces(channel.role())) {
        std::mt19937 random(static_cast<unsigned>(world_rank()));
        for (int i = 0; i < 3000; ++i) {
            const std::size_t length = i % 7 == 0 ? 1000 : i % 11 == 0 ? 0 : random() % 1001;
            sent += static_cast<std::int64_t>(length);
            const std::vector<std::byte> element(length, static_cast<std::byte>(length % 251));
            if (i % 2 == 0) {
                stream.send_record(element);
            } else {
                const auto room = stream.reserve(length);
                std::copy(element.begin(), element.end(), room.begin());
                stream.commit();
            }
        }
        CHECK_THROWS_WITH_AS(stream.send_record(std::vector<std::byte>(1001)),
                             doctest::Contains("1001 bytes; allowed: up to 1000"), InvalidArgument);
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
    CHECK(sum_over_world(bytes) == sum_over_world(sent));
    CHECK(sum_over_world(elements) == 3000 * static_cast<std::int64_t>(channel.producers().size()));
    channel.close();
}

TEST_CASE("isend keeps the order, and its memory until it is done") {
    Channel channel = world_channel(halves());
    std::map<std::int64_t, std::vector<std::int64_t>> seen;
    Stream stream(channel, {.element = Element::opaque(sizeof(Numbered)), .buffer_bytes = 4096},
                  recording(seen));
    if (produces(channel.role())) {
        std::vector<Pending> pending;
        for (std::int64_t i = 0; i < 200; ++i) {
            auto element = std::make_shared<Numbered>(Numbered{world_rank(), i});
            pending.push_back(stream.isend(element.get(), 1, element));
        }
        stream.put(Numbered{world_rank(), 200});  // behind all of them
        for (Pending& one : pending) {
            CHECK(one.test());
        }
        stream.iterminate().wait();
    }
    if (consumes(channel.role())) {
        stream.operate();
        for (const auto& [producer, numbers] : seen) {
            CHECK(numbers.size() == 201);
            CHECK(std::is_sorted(numbers.begin(), numbers.end()));
        }
    }
    channel.close();
}

TEST_CASE("results merge in the order of ranks, and reach producers on request") {
    Channel channel = world_channel(halves());
    Stream stream(channel, {.element = Element::of(DType::Int64), .result_on_producers = true},
                  std::make_unique<RankList>(channel.rank()));
    if (produces(channel.role())) {
        stream.put(std::int64_t{1});
        stream.terminate();
    }
    std::vector<std::byte> expected;
    for (const int rank : channel.consumers()) {
        expected.push_back(static_cast<std::byte>(rank));
    }
    expected.push_back(static_cast<std::byte>(255));
    CHECK(stream.result() == expected);
    CHECK(stream.ended());
    channel.close();
}

TEST_CASE("elements are taken one batch at a time where there is no operation") {
    Channel channel = world_channel(halves());
    Stream stream(channel, {.element = Element::of(DType::Int32)});
    if (produces(channel.role())) {
        for (std::int32_t i = 0; i < 100'000; ++i) {
            stream.put(i);
        }
        stream.terminate();
    }
    std::int64_t elements = 0;
    if (consumes(channel.role())) {
        CHECK_THROWS_WITH_AS(stream.operate(), doctest::Contains("no operation"), InvalidArgument);
        while (const auto batch = stream.next()) {
            const auto* x = reinterpret_cast<const std::int32_t*>(batch->data);
            CHECK(x[0] == static_cast<std::int32_t>(batch->first / 4));
            elements += static_cast<std::int64_t>(batch->bytes / 4);
        }
        CHECK(stream.ended());
    }
    CHECK(sum_over_world(elements) ==
          100'000 * static_cast<std::int64_t>(channel.producers().size()));
    channel.close();
}

TEST_CASE("a consumer works on in between, and a slow one holds its producers back") {
    Channel channel = world_channel(halves());
    std::size_t most = 0;
    std::int64_t elements = 0;
    Stream stream(channel, {.element = Element::of(DType::Int64), .buffer_bytes = 32'768},
                  make_batches<std::int64_t>([&](std::span<const std::int64_t> x) {
                      elements += static_cast<std::int64_t>(x.size());
                  }));
    if (produces(channel.role())) {
        for (std::int64_t i = 0; i < 50'000; ++i) {
            stream.put(i);
        }
        stream.terminate();
    }
    if (consumes(channel.role())) {
        while (!stream.ended()) {
            const std::size_t done = stream.operate_some(4096);
            most = std::max(most, done);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        CHECK(most <= 4096);
    }
    CHECK(sum_over_world(elements) ==
          50'000 * static_cast<std::int64_t>(channel.producers().size()));
    channel.close();
}

TEST_CASE("every rank sends to every rank through buffers of a few elements") {
    Channel channel = world_channel(Role::Both);
    std::map<std::int64_t, std::vector<std::int64_t>> seen;
    Stream stream(channel,
                  {.element = Element::opaque(sizeof(Numbered)),
                   .buffer_bytes = 512 * static_cast<std::size_t>(world_size()),
                   .association = Association::round_robin()},
                  recording(seen));
    for (std::int64_t i = 0; i < 20'000; ++i) {
        stream.put(Numbered{world_rank(), i});
    }
    stream.terminate();
    stream.operate();
    std::int64_t received = 0;
    for (const auto& [producer, numbers] : seen) {
        received += static_cast<std::int64_t>(numbers.size());
    }
    CHECK(sum_over_world(received) == 20'000 * world_size());
    channel.close();
}

TEST_CASE("ranks without a part pass by") {
    if (world_size() < 3) {
        return;
    }
    const Role role = world_rank() == 0   ? Role::Producer
                      : world_rank() == 1 ? Role::Consumer
                                          : Role::None;
    Channel channel = world_channel(role);
    std::int64_t sum = 0;
    Stream stream(channel, {.element = Element::of(DType::Int64)},
                  make_elements<std::int64_t>([&](std::int64_t x) { sum += x; }));
    CHECK(channel.role() == role);
    CHECK((channel.rank() >= 0) == (role != Role::None));
    if (produces(role)) {
        stream.put(std::int64_t{7});
        stream.terminate();
    } else {
        stream.operate();
        CHECK(stream.ended());
    }
    CHECK(sum == (consumes(role) ? 7 : 0));
    channel.close();
}
