// SPDX-License-Identifier: Apache-2.0
// Queries of a running stream.
#include "fluvial/stream/query.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// Adds numbers up; the sum is 8 bytes. Slow where that is wanted.
class Sum : public Operation {
  public:
    explicit Sum(double pause_s = 0) : pause_s_(pause_s) {}
    void absorb(const Batch& batch) override {
        std::this_thread::sleep_for(std::chrono::duration<double>(pause_s_));
        for (std::size_t i = 0; i < batch.bytes; i += 8) {
            sum_ += value(batch.data + i);
        }
    }
    std::vector<std::byte> partial() const override { return bytes(sum_); }
    std::vector<std::byte> merge(std::vector<std::byte> a,
                                 std::span<const std::byte> b) const override {
        return bytes(value(a.data()) + value(b.data()));
    }

    static std::int64_t value(const std::byte* at) {
        std::int64_t x = 0;
        std::memcpy(&x, at, sizeof x);
        return x;
    }
    static std::vector<std::byte> bytes(std::int64_t x) {
        std::vector<std::byte> out(sizeof x);
        std::memcpy(out.data(), &x, sizeof x);
        return out;
    }

  private:
    double pause_s_;
    std::int64_t sum_ = 0;
};

const StreamOptions numbers{.element = Element::of(DType::Int64), .buffer_bytes = 1 << 20};

}  // namespace

TEST_CASE("results cover what was processed, and never go back") {
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        Stream stream(channel, numbers, std::make_unique<Sum>());
        if (produces(channel.role())) {
            const auto all = static_cast<std::uint64_t>(20'000 * channel.producers().size());
            std::uint64_t covered = 0;
            for (int i = 0; i < 20'000; ++i) {
                stream.put(std::int64_t{3});
                if (i % 1000 != 999) {
                    continue;
                }
                const Outcome found = stream.query();
                // Every element is a 3: the sum tells how many there are in it.
                CHECK(Sum::value(found.result.data()) ==
                      3 * static_cast<std::int64_t>(found.elements));
                CHECK(found.elements >= covered);
                CHECK(found.elements <= all);
                covered = found.elements;
            }
            stream.terminate();
        }
        if (consumes(channel.role())) {
            stream.operate();
            CHECK(Sum::value(stream.result().data()) ==
                  60'000 * static_cast<std::int64_t>(channel.producers().size()));
            if (channel.rank() == channel.consumers().front()) {
                CHECK(stream.statistics().queries_answered >= 20 * channel.producers().size());
            }
        }
        channel.close();
    }
}

TEST_CASE("queries under way at the same time have results, each by its own rank") {
    Channel channel = world_channel(halves());
    Stream stream(channel, numbers, std::make_unique<Sum>());
    if (produces(channel.role())) {
        std::vector<Inquiry> inquiries;
        for (int i = 0; i < 50; ++i) {
            stream.put(std::int64_t{3});
            inquiries.push_back(stream.iquery());
            if (i % 7 == 0) {
                inquiries.erase(inquiries.begin());  // left alone
            }
        }
        for (Inquiry& inquiry : inquiries) {
            const Outcome& found = inquiry.wait();
            CHECK(inquiry.test());
            CHECK(Sum::value(found.result.data()) == 3 * static_cast<std::int64_t>(found.elements));
        }
        stream.terminate();
        // The stream has ended or is about to: the consumers still found.
        CHECK(stream.query().elements <= 50 * channel.producers().size());
        stream.iquery();  // no call waits for this one but close()
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
    channel.close();
}

TEST_CASE("after the end a query has the final result") {
    Channel channel = world_channel(halves());
    StreamOptions options = numbers;
    options.result_on_producers = true;
    Stream stream(channel, options, std::make_unique<Sum>());
    if (produces(channel.role())) {
        for (int i = 0; i < 100; ++i) {
            stream.put(std::int64_t{3});
        }
        stream.terminate();
        const auto result = stream.result();
        const Outcome found = stream.query();
        CHECK(found.result == result);
        CHECK(found.elements == 100 * channel.producers().size());
    }
    channel.close();
}

TEST_CASE("a query goes before the elements that wait") {
    if (world_size() == 1) {
        return;
    }
    Channel channel = world_channel(world_rank() == 0 ? Role::Producer : Role::Consumer);
    constexpr int batches = 20;
    constexpr double pause_s = 0.02;
    StreamOptions options = numbers;
    options.element = Element::of(DType::Int64, {8192});  // one element is a batch
    options.buffer_bytes = 32 << 20;
    options.association.kind = Association::Kind::RoundRobin;
    Stream stream(channel, options, std::make_unique<Sum>(pause_s));
    if (produces(channel.role())) {
        const std::vector<std::int64_t> element(8192, 1);
        const auto elements = batches * channel.consumers().size();
        for (std::size_t i = 0; i < elements; ++i) {
            stream.send(element.data());
        }
        const Outcome found = stream.query();
        MESSAGE("answered after ", found.elements, " of ", elements);
        CHECK(found.elements < elements);
        CHECK(Sum::value(found.result.data()) == 8192 * static_cast<std::int64_t>(found.elements));
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
    channel.close();
}

TEST_CASE("a rank that asks and asks fills no memory of others, and has all its results") {
    const mpi::Comm alone;
    progress::ControlMessages control(alone);
    Query query(control, 0, {0}, 0);
    const Sum sum;
    std::vector<std::uint64_t> numbers;
    for (int i = 0; i < 1000; ++i) {
        numbers.push_back(query.ask());
    }
    for (int i = 0; i < 1000; i += 3) {
        query.forget(numbers[static_cast<std::size_t>(i)]);
    }
    int messages = 0;
    const auto deliver = [&] {
        int taken = 0;
        for (; const auto message = control.poll(); ++taken) {
            query.take(*message);
        }
        return taken;
    };
    const int first = deliver();
    CHECK(first <= 16);
    for (messages = first; !query.quiet(); messages += deliver()) {
        query.advance({&sum, 7, nullptr});
    }
    CHECK(messages < 100);
    for (int i = 0; i < 1000; ++i) {
        if (i % 3 == 0) {
            continue;
        }
        const Outcome* const found = query.result(numbers[static_cast<std::size_t>(i)]);
        REQUIRE(found != nullptr);
        CHECK(found->elements == 7);
    }
}

TEST_CASE("which ranks may ask") {
    Channel channel = world_channel(halves());
    Stream* inside = nullptr;
    int refused = 0;
    Stream stream(channel, numbers, make_batches<std::int64_t>([&](std::span<const std::int64_t>) {
                      if (!produces(channel.role())) {
                          return;
                      }
                      CHECK_THROWS_WITH_AS(inside->query(), doctest::Contains("queries its own"),
                                           InvalidArgument);
                      ++refused;
                  }));
    inside = &stream;
    if (produces(channel.role())) {
        stream.put(std::int64_t{3});
        stream.terminate();
    } else {
        CHECK_THROWS_WITH_AS(stream.query(), doctest::Contains("does not produce"),
                             InvalidArgument);
    }
    CHECK_THROWS_AS(Inquiry().wait(), InvalidArgument);
    if (consumes(channel.role())) {
        stream.operate();
    }
    if (world_size() == 1) {
        CHECK(refused == 1);
    }
    channel.close();
}
