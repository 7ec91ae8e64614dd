// SPDX-License-Identifier: Apache-2.0
/// What goes wrong in a channel, and that all ranks learn of it.
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// The message of the error that `work` throws; empty when it throws none.
template <class Thrown, class Work>
std::string message_of(Work&& work) {
    try {
        work();
    } catch (const Thrown& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("what an operation throws while its rank waits for something else is thrown by close()") {
    // Each rank by itself: the failure of another might come before this rank's operation is
    // called.
    Channel channel(mpi::Comm::duplicate(MPI_COMM_SELF), Role::Both, {.timeout_s = 20});
    bool called = false;
    Stream stream(channel, whole_numbers(), make_elements<std::int64_t>([&](std::int64_t) {
                      called = true;
                      throw OutOfRange("not this one");
                  }));
    const std::string message = message_of<OutOfRange>([&] {
        stream.put(std::int64_t{1});
        stream.flush();
        wait_until([&] { return called; }, Deadline(20), "no operation was called");
        channel.close();
    });
    CHECK(message.find("not this one") != std::string::npos);
    channel.close();  // says it once
}

TEST_CASE("an operation that throws is an error on every rank, and no rank hangs") {
    for (const bool shared : {true}) {
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        const int thrower = channel.consumers().back();
        Stream stream(channel, whole_numbers(16'384),
                      make_elements<std::int64_t>([&](std::int64_t x) {
                          if (x == 1234 && channel.rank() == thrower) {
                              throw OutOfRange("1234 is too much for me");
                          }
                      }));
        const std::string message = message_of<OutOfRange>([&] {
            if (produces(channel.role())) {
                for (std::int64_t i = 0; i < 100'000; ++i) {
                    stream.put(i);
                }
                stream.terminate();
            }
            if (consumes(channel.role())) {
                stream.operate();
            }
            channel.close();
        });
        CHECK(message.find("1234 is too much for me") != std::string::npos);
        if (channel.rank() != thrower) {
            CHECK(message.find("rank " + std::to_string(thrower) + " of ") != std::string::npos);
        }
        CHECK_THROWS_AS(stream.operate_some(), Error);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("a producer that always has room is told of a failure") {
    if (world_size() < 2) {
        return;
    }
    for (const int way : {0, 1, 2, 3}) {
        CAPTURE(way);
        Channel channel = world_channel(halves(), {.shared_memory = way != 3, .timeout_s = 20});
        StreamOptions options = whole_numbers();
        if (way == 2) {
            options.association = Association::round_robin();
        }
        Stream stream(channel, options, make_elements<std::int64_t>([&](std::int64_t) {
                          throw OutOfRange("not this one");
                      }));
        const Deadline deadline(20);
        const auto message = message_of<OutOfRange>([&] {
            if (consumes(channel.role())) {
                stream.operate();
            }
            for (std::int64_t i = 0; !deadline.passed(); ++i, nap(1e-3)) {
                way == 1 ? stream.send(&i) : stream.put(i);
            }
        });
        CHECK(message.find("not this one") != std::string::npos);
        CHECK(deadline.left_ns() > 10'000'000'000);
        channel.close();
        world().barrier();
    }
}

TEST_CASE("merging and ending that throw are errors on every rank too") {
    class Bad : public Operation {
      public:
        void absorb(const Batch&) override {}
        void finish_local() override { throw std::runtime_error("no space left"); }
    };
    Channel channel = world_channel(halves());
    Stream stream(channel, whole_numbers(16'384), std::make_unique<Bad>());
    const std::string message = message_of<std::exception>([&] {
        if (produces(channel.role())) {
            stream.terminate();
        }
        if (consumes(channel.role())) {
            stream.operate();
        }
        channel.close();
    });
    CHECK(message.find("no space left") != std::string::npos);
    channel.close();
    world().barrier();
}

TEST_CASE("the others are told of a rank that abandons a channel") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves());
    Stream stream(channel, whole_numbers(16'384), make_callback([](const Batch&) {}));
    if (world_rank() == 0) {
        channel.abandon("out of patience");
    } else {
        const std::string message = message_of<Error>([&] { channel.close(); });
        CHECK(message.find("rank 0 of ") != std::string::npos);
        CHECK(message.find("out of patience") != std::string::npos);
    }
    world().barrier();
}

TEST_CASE("nothing moving for too long is a time-out, after which one may try again") {
    if (world_size() < 2) {
        return;
    }
    Channel channel = world_channel(halves(), {.timeout_s = 2});
    Stream stream(channel, whole_numbers(16'384), make_callback([](const Batch&) {}));
    if (consumes(channel.role())) {
        CHECK_THROWS_WITH_AS(stream.operate(), doctest::Contains("could not operate numbers"),
                             TimedOut);
        world().barrier();
        CHECK_NOTHROW(stream.operate());
    } else {
        world().barrier();
        stream.put(std::int64_t{1});
        stream.terminate();
    }
    channel.close();
}

TEST_CASE("wrong use names the stream, the value and the remedy") {
    Channel channel = world_channel(halves());
    Stream stream(channel, whole_numbers(16'384), make_callback([](const Batch&) {}));
    if (produces(channel.role())) {
        CHECK_THROWS_WITH_AS(stream.put(1.0F), doctest::Contains("4 bytes; allowed: 8 bytes"),
                             InvalidArgument);
        CHECK_THROWS_AS(stream.send(nullptr, -1), InvalidArgument);
        if (!consumes(channel.role())) {
            CHECK_THROWS_WITH_AS(stream.operate(), doctest::Contains("no consumer of numbers"),
                                 InvalidArgument);
            CHECK_THROWS_WITH_AS(static_cast<void>(stream.result()),
                                 doctest::Contains("result_on_producers"), InvalidArgument);
        }
        stream.terminate();
        stream.terminate();
        CHECK_THROWS_WITH_AS(stream.put(std::int64_t{1}), doctest::Contains("was terminated"),
                             InvalidArgument);
    } else {
        CHECK_THROWS_WITH_AS(stream.put(std::int64_t{1}),
                             doctest::Contains("no producer of numbers"), InvalidArgument);
        CHECK_THROWS_WITH_AS(static_cast<void>(stream.next()),
                             doctest::Contains("has an operation"), InvalidArgument);
    }
    channel.close();
    CHECK_THROWS_WITH_AS(stream.put(std::int64_t{1}), doctest::Contains("closed"), InvalidArgument);
}

TEST_CASE("channels and streams that cannot be are refused on every rank") {
    CHECK_THROWS_WITH_AS(world_channel(Role::Producer), doctest::Contains("no consumer"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(world_channel(Role::Consumer), doctest::Contains("no producer"),
                         InvalidArgument);
    Channel channel = world_channel(halves());
    StreamOptions options = whole_numbers(16'384);
    options.buffer_bytes = 64;
    CHECK_THROWS_WITH_AS(Stream(channel, options), doctest::Contains("buffer_bytes is too small"),
                         InvalidArgument);
    if (world_size() > 1) {
        options = whole_numbers(16'384);
        if (world_rank() == 1) {
            options.element = Element::of(DType::Float32);
        }
        CHECK_THROWS_WITH_AS(Stream(channel, options),
                             doctest::Contains("the ranks differ in the elements of stream 0"),
                             InvalidArgument);
    }
    channel.close();
}

TEST_CASE("what is wrong on one rank alone is refused on every rank") {
    if (world_size() > 1) {
        CHECK_THROWS_WITH_AS(world_channel(halves(), {.shared_memory = world_rank() == 0}),
                             doctest::Contains("the ranks open different channels"),
                             InvalidArgument);
    }
    for (const bool shared : {true, false}) {
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        StreamOptions options = whole_numbers(16'384);
        options.association = Association::by([](auto) { return std::uint64_t{0}; });
        if (channel.rank() == channel.producers().back()) {
            options.association.choose = {};
        }
        CHECK_THROWS_WITH_AS(Stream(channel, options), doctest::Contains("function that chooses"),
                             InvalidArgument);
        Stream stream(channel, whole_numbers(16'384), make_callback([](const Batch&) {}));
        CHECK(stream.number() == 0);
        channel.close();
    }
    CHECK_THROWS_AS(Element::varying(~std::size_t{0}), InvalidArgument);
    CHECK_THROWS_AS(Element::opaque(~std::size_t{0}), InvalidArgument);
    CHECK_THROWS_AS(Element::of(DType::Float64, {Index{1} << 40, Index{1} << 40}), InvalidArgument);
}

TEST_CASE("an element whose bytes are not those of its items is refused on every rank") {
    Channel channel = world_channel(halves());
    const auto refused = [&](Element element, std::size_t bytes, const char* words) {
        if (world_rank() == 0) {
            element.bytes = bytes;
        }
        CHECK_THROWS_WITH_AS(Stream(channel, {.element = element}), doctest::Contains(words),
                             InvalidArgument);
    };
    refused(Element{}, 0, "got 0; allowed: 1 for () of uint8");
    refused(Element::of(DType::Float64), 7, "got 7; allowed: 8 for () of float64");
    refused(Element::of(DType::Float64, {2, 3}), 8, "allowed: 48 for (2, 3) of float64");
    refused(Element::opaque(24), 25, "got 25; allowed: 24 for (24,) of uint8");
    refused(Element::varying(24), ~std::size_t{0}, "element is too large");
    Element none = Element::of(DType::Float64, {2});
    none.shape = {0};
    refused(none, 0, "an extent of a stream's element is out of range: got 0");
    for (const Element& whole : {Element{}, Element::of(DType::Float64, {2, 3}),
                                 Element::opaque(24), Element::varying(0)}) {
        Stream stream(channel, {.element = whole});
        CHECK(stream.options().element.bytes == whole.bytes);
    }
    channel.close();
}

TEST_CASE("a callback of another type than the elements is refused") {
    Channel channel = world_channel(halves());
    Stream stream(channel, {.element = Element::opaque(12)},
                  make_batches<double>([](std::span<const double>) {}));
    const std::string message = message_of<InvalidArgument>([&] {
        if (produces(channel.role())) {
            stream.put(std::array<std::int32_t, 3>{});
        }
        channel.close();
    });
    CHECK(message.find("not of the callback's type") != std::string::npos);
    channel.close();
    world().barrier();
}

TEST_CASE("consumers with and without an operation are refused on every rank") {
    Channel channel = world_channel(halves());
    if (channel.consumers().size() > 1) {
        const bool odd = channel.rank() == channel.consumers().back();
        CHECK_THROWS_WITH_AS(Stream(channel, whole_numbers(16'384),
                                    odd ? nullptr : make_callback([](const Batch&) {})),
                             doctest::Contains("the ranks differ in the operation of stream 0"),
                             InvalidArgument);
    }
    channel.close();
}

TEST_CASE("elements that are never taken are an error and not lost in silence") {
    Channel channel = world_channel(halves());
    Stream stream(channel, whole_numbers(16'384));
    if (produces(channel.role())) {
        stream.put(std::int64_t{1});
    }
    const std::string message = message_of<InvalidArgument>([&] { channel.close(); });
    CHECK(message.find("elements of numbers are waiting") != std::string::npos);
    world().barrier();
}

TEST_CASE("three thousand channels come and go, more than an MPI has communicators at a time") {
    if (world_size() > 2) {
        return;
    }
    for (int i = 0; i < 3'000; ++i) {
        Channel channel = world_channel(halves());
        if (i % 10 == 0) {
            std::int64_t sum = 0;
            Stream stream(channel, whole_numbers(16'384),
                          make_elements<std::int64_t>([&](std::int64_t x) { sum += x; }));
            if (produces(channel.role())) {
                stream.put(std::int64_t{i});
            }
            channel.close();
            if (consumes(channel.role())) {
                CHECK(sum == i);
            }
        } else {
            channel.close();
        }
    }
}
