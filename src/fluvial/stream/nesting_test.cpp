// SPDX-License-Identifier: Apache-2.0
/// Calls from inside of operations, calls that others keep waiting, and calls that come too late.
#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("an operation may send on, also into a stream that its rank is sending to") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(Role::Both, {.shared_memory = shared, .timeout_s = 20});
        constexpr Index items = 100'000;  // of an element, so it travels in parts
        const auto element_of = [](double value) { return std::vector<double>(items, value); };
        int torn = 0;
        int arrived = 0;
        std::array<double, 2> previous{};
        Stream large(channel,
                     {.element = Element::of(DType::Float64, {items}), .buffer_bytes = 600'000},
                     make_callback(
                         [&](const Batch& batch) {
                             const std::span seen(reinterpret_cast<const double*>(batch.data),
                                                  batch.bytes / sizeof(double));
                             for (std::size_t i = 0; i < seen.size(); ++i) {
                                 const bool first = (batch.first / 8 + i) % items == 0;
                                 arrived += first ? 1 : 0;
                                 torn += !first && seen[i] != previous[0] ? 1 : 0;
                                 previous[0] = seen[i];
                             }
                         },
                         true));
        Stream requests(channel, whole_numbers(), make_elements<std::int64_t>([&](std::int64_t x) {
                            large.send(element_of(-static_cast<double>(x)).data());
                        }));
        for (std::int64_t i = 1; i <= 3; ++i) {
            requests.put(i);
            large.send(element_of(static_cast<double>(i)).data());
        }
        requests.terminate();
        requests.operate();
        large.terminate();
        large.operate();
        CHECK(torn == 0);
        CHECK(sum_over_world(arrived) == 6 * world_size());
        channel.close();
    }
}

TEST_CASE("what an operation collected leaves when its own stream ends") {
    class Collector : public Operation {
      public:
        explicit Collector(Stream& next) : next_(next) {}
        void absorb(const Batch& batch) override { sum_ += static_cast<std::int64_t>(batch.bytes); }
        void finish_local() override {
            for (int i = 0; i < 1000; ++i) {
                next_.put(sum_);  // more than fits
            }
            next_.terminate();
        }

      private:
        Stream& next_;
        std::int64_t sum_ = 0;
    };
    Channel channel = world_channel(Role::Both, {.timeout_s = 20});
    std::int64_t sums = 0;
    std::int64_t seen = 0;
    Stream second(channel, whole_numbers(4096), make_elements<std::int64_t>([&](std::int64_t x) {
                      ++seen;
                      sums += x;
                  }));
    Stream first(channel, whole_numbers(), std::make_unique<Collector>(second));
    for (int i = 0; i < 10; ++i) {
        first.put(std::int64_t{i});
    }
    first.terminate();
    first.operate();
    channel.close();
    CHECK(seen == 1000);
    CHECK(sums == 80'000);
}

TEST_CASE("an operation that would wait for itself is told so") {
    for (const int way : {0, 1, 2, 3}) {
        Channel channel = world_channel(Role::Both, {.timeout_s = 20});
        std::optional<Stream> stream;
        std::int64_t seen = 0;
        stream.emplace(channel, whole_numbers(4096), make_elements<std::int64_t>([&](std::int64_t) {
                           ++seen;
                           if (way == 0) {
                               stream->operate();
                           }
                           if (way == 1) {
                               static_cast<void>(stream->result());
                           }
                           if (way == 2) {
                               channel.close();
                           }
                           if (way == 3 && seen < 2000) {
                               for (int i = 0; i < 10; ++i) {
                                   stream->put(std::int64_t{1});
                               }
                           }
                       }));
        stream->put(std::int64_t{1});
        CHECK_THROWS_AS(channel.close(), Error);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("an operation may send to itself without waiting") {
    Channel channel = world_channel(Role::Both, {.timeout_s = 20});
    std::optional<Stream> stream;
    std::int64_t seen = 0;
    stream.emplace(channel, whole_numbers(4096), make_elements<std::int64_t>([&](std::int64_t x) {
                       ++seen;
                       for (std::int64_t i = 0; i < x; ++i) {
                           const auto next = std::make_shared<std::int64_t>(x - 1);
                           stream->isend(next.get(), 1, next);
                       }
                   }));
    stream->put(std::int64_t{6});
    while (seen < 1957) {
        channel.progress();  // 1 + 6 + 6*5 + ... + 6!
    }
    channel.close();
    CHECK(seen == 1957);
}

TEST_CASE("attaching waits for ranks that are sending, and for none that has failed") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves(), {.timeout_s = 20});
    std::int64_t seen = 0;
    Stream first(channel, whole_numbers(4096),
                 make_elements<std::int64_t>([&](std::int64_t) { ++seen; }));
    if (produces(channel.role())) {
        for (int i = 0; i < 10'000; ++i) {
            first.put(std::int64_t{i});
        }
    }
    Stream second(channel, whole_numbers(), make_callback([](const Batch&) {}));
    if (world_rank() == 0) {
        channel.abandon("no third");
    } else {
        CHECK_THROWS_WITH_AS(Stream(channel, whole_numbers()), doctest::Contains("no third"),
                             Error);
    }
    channel.close();
    if (consumes(channel.role())) {
        CHECK(seen > 0);
    }
    world().barrier();
}

TEST_CASE("after the end of a channel nothing can be sent, and what was sent is done") {
    for (const bool fails : {false, true}) {
        Channel channel = world_channel(Role::Both);
        std::int64_t seen = 0;
        Stream stream(channel, whole_numbers(4096),
                      make_elements<std::int64_t>([&](std::int64_t) { ++seen; }));
        const std::vector<std::int64_t> many(5000, 1);
        stream.put(std::int64_t{1});
        Pending pending = stream.isend(many.data(), 5000);
        if (fails) {
            channel.abandon("enough");
        } else {
            channel.close();
            CHECK(pending.test());
            CHECK(seen == 5001);
        }
        CHECK_THROWS_AS(stream.put(std::int64_t{1}), Error);
        CHECK_THROWS_AS(stream.send(many.data()), Error);
        CHECK_THROWS_AS(stream.flush(), Error);
        world().barrier();
    }
}

TEST_CASE("a long send is no time-out while it moves") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves(), {.timeout_s = 1.5});
    Stream stream(channel, whole_numbers(4096), make_batches<std::int64_t>([&](auto batch) {
                      std::this_thread::sleep_for(std::chrono::microseconds(batch.size() * 20));
                  }));
    const std::vector<std::int64_t> many(100'000);
    if (produces(channel.role())) {
        const double took =
            seconds_of([&] { CHECK_NOTHROW(stream.send(many.data(), std::ssize(many))); });
        CHECK(took > 1.6);
        stream.terminate();
    } else {
        stream.operate();
    }
    channel.close();
}

TEST_CASE("a send that breaks off in the middle ends the channel") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves(), {.timeout_s = 2});
    Stream stream(channel, whole_numbers(4096), make_callback([](const Batch&) {}));
    const std::vector<std::int64_t> many(50'000);
    if (produces(channel.role())) {
        CHECK_THROWS_AS(stream.send(many.data(), std::ssize(many)), TimedOut);
        CHECK_THROWS_AS(stream.put(std::int64_t{1}), TimedOut);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);  // the library's own would serve the stream meanwhile
        CHECK_THROWS_AS(stream.operate(), TimedOut);
    }
    channel.close();
    world().barrier();
}

TEST_CASE("a consumer that is never idle can be interrupted") {
    Channel channel = world_channel(Role::Both, {.timeout_s = 20});
    std::optional<Stream> stream;
    stream.emplace(channel, whole_numbers(), make_elements<std::int64_t>([&](std::int64_t x) {
                       const auto next = std::make_shared<std::int64_t>(x);
                       stream->isend(next.get(), 1, next);
                   }));
    stream->put(std::int64_t{1});
    int checks = 0;
    set_interrupt_check([&] {
        if (++checks == 3) {
            throw std::runtime_error("interrupted");
        }
    });
    CHECK_THROWS_WITH(stream->operate(), doctest::Contains("interrupted"));
    set_interrupt_check([] {});
    channel.abandon("interrupted");
    world().barrier();
}

TEST_CASE("operate_some takes no more than it is asked for") {
    Channel channel = world_channel(Role::Both, {.timeout_s = 20});
    std::int64_t seen = 0;
    Stream stream(channel, whole_numbers(),
                  make_elements<std::int64_t>([&](std::int64_t) { ++seen; }));
    for (int i = 0; i < 1000; ++i) {
        stream.put(std::int64_t{i});
    }
    stream.flush();
    CHECK(stream.operate_some(0) == 0);
    std::size_t bytes = 0;
    for (int calls = 0; bytes == 0 && calls < 100'000; ++calls) {
        bytes = stream.operate_some(17);
    }
    CHECK(bytes == 16);
    CHECK(seen == 2);
    channel.close();
    CHECK(seen == 1000);
}
