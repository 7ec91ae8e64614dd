// SPDX-License-Identifier: Apache-2.0
/// Streams that follow each other in a channel: one that has ended keeps what it counted, and gives
/// its memory back.
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/stream/channel_fixture.hpp"

using namespace fluvial;
using namespace fluvial::stream;

namespace {

/// The sum of the elements, in 8 bytes.
class Sum : public Operation {
  public:
    void absorb(const Batch& batch) override {
        for (std::size_t at = 0; at < batch.bytes; at += 8) {
            sum_ += number_at(batch.data + at);
        }
    }
    std::vector<std::byte> partial() const override { return bytes_of(sum_); }
    std::vector<std::byte> merge(std::vector<std::byte> a,
                                 std::span<const std::byte> b) const override {
        return bytes_of(number_at(a.data()) + number_at(b.data()));
    }

    static std::int64_t number_at(const std::byte* at) {
        std::int64_t number = 0;
        std::memcpy(&number, at, sizeof number);
        return number;
    }
    static std::vector<std::byte> bytes_of(std::int64_t number) {
        std::vector<std::byte> bytes(sizeof number);
        std::memcpy(bytes.data(), &number, sizeof number);
        return bytes;
    }

  private:
    std::int64_t sum_ = 0;
};

/// Of the mappings that can be written. What malloc reserves for a new thread, 128 MiB, cannot.
std::size_t writable_bytes() {
    std::ifstream file("/proc/self/maps");
    std::size_t bytes = 0;
    for (std::string line; std::getline(file, line);) {
        std::size_t begin = 0;
        std::size_t end = 0;
        char dash = 0;
        std::string permissions;
        std::istringstream words(line);
        words >> std::hex >> begin >> dash >> end >> permissions;
        bytes += permissions.find('w') == std::string::npos ? 0 : end - begin;
    }
    return bytes;
}

/// Every producer sends the numbers 1 to `count`, and the stream ends.
void run(Channel& channel, Stream& stream, std::int64_t count) {
    if (produces(channel.role())) {
        for (std::int64_t number = 1; number <= count; ++number) {
            stream.put(number);
        }
        stream.terminate();
    }
    if (consumes(channel.role())) {
        stream.operate();
    }
}

}  // namespace

TEST_CASE("streams one after the other need the memory of two") {
    constexpr std::size_t buffer_bytes = 8 << 20;
    for (const bool shared : {true, false}) {
        for (const Association& association : {Association::nearest(), Association::most_room()}) {
            CAPTURE(shared);
            Channel channel = world_channel(halves(), {.shared_memory = shared});
            StreamOptions options = whole_numbers(buffer_bytes);
            options.association = association;
            std::size_t first = 0;
            for (int i = 0; i < 40; ++i) {
                Stream stream(channel, options, std::make_unique<Sum>());
                run(channel, stream, 1000);
                if (i == 5) {
                    first = writable_bytes();
                }
            }
            const std::size_t last = writable_bytes();
            CHECK(last < first + 10 * buffer_bytes);
            channel.close();
        }
    }
}

TEST_CASE("a stream that has ended keeps result and statistics, and answers queries") {
    for (const bool shared : {true, false}) {
        CAPTURE(shared);
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        const auto producers = static_cast<std::int64_t>(channel.producers().size());
        StreamOptions options = whole_numbers();
        options.result_on_producers = true;
        Stream ended(channel, options, std::make_unique<Sum>());
        run(channel, ended, 1000);
        CHECK(Sum::number_at(ended.result().data()) == 500'500 * producers);
        const Statistics before = ended.statistics();
        // The last credits may be on their way when the second one is attached.
        std::vector<Stream> more;
        for (int i = 0; i < 3; ++i) {
            nap(0.01);
            more.emplace_back(channel, options, std::make_unique<Sum>());
        }
        const Statistics after = ended.statistics();
        CHECK(after.memory_bytes == 0);
        CHECK(after.elements == before.elements);
        CHECK(after.bytes == before.bytes);
        CHECK(after.sent_bytes == before.sent_bytes);
        CHECK(after.sent_elements == before.sent_elements);
        CHECK(after.depth_bytes_max == before.depth_bytes_max);
        CHECK(after.text().empty() == before.text().empty());
        CHECK(Sum::number_at(ended.result().data()) == 500'500 * producers);
        CHECK(ended.ended());
        if (produces(channel.role())) {
            CHECK(Sum::number_at(ended.query().result.data()) == 500'500 * producers);
            CHECK_THROWS_WITH_AS(ended.put(std::int64_t{1}), doctest::Contains("was terminated"),
                                 InvalidArgument);
            ended.terminate();
        }
        if (consumes(channel.role())) {
            ended.operate();
            CHECK(ended.operate_some() == 0);
        }
        for (Stream& stream : more) {
            if (consumes(channel.role())) {
                CHECK(stream.statistics().memory_bytes > 0);
            }
            run(channel, stream, 10);
        }
        channel.close();
        CHECK(ended.statistics().bytes == before.bytes);
    }
}

TEST_CASE("a stream that has ended on some ranks only stays as it is") {
    if (world_size() < 2) {
        return;
    }
    for (const bool shared : {true, false}) {
        CAPTURE(shared);
        Channel channel = world_channel(halves(), {.shared_memory = shared});
        const auto producers = static_cast<std::int64_t>(channel.producers().size());
        StreamOptions options = whole_numbers();
        options.association = Association::round_robin();
        Stream slow(channel, options, std::make_unique<Sum>());
        if (produces(channel.role())) {
            slow.put(std::int64_t{1});
            if (world_rank() != 0) {
                slow.terminate();
            }
        }
        Stream another(channel, options, std::make_unique<Sum>());
        if (world_rank() == 0) {
            for (int i = 0; i < 100'000; ++i) {
                slow.put(std::int64_t{1});
            }
            slow.terminate();
        }
        run(channel, another, 10);
        if (consumes(channel.role())) {
            CHECK(Sum::number_at(slow.result().data()) == 100'000 + producers);
            CHECK(Sum::number_at(another.result().data()) == 55 * producers);
        }
        channel.close();
    }
}

TEST_CASE("a stream goes on while others are attached and end") {
    for (const bool shared : {true, false}) {
        CAPTURE(shared);
        Channel channel = world_channel(Role::Both, {.shared_memory = shared});
        StreamOptions options = whole_numbers();
        options.association = Association::round_robin();
        Stream lasting(channel, options, std::make_unique<Sum>());
        for (std::int64_t i = 1; i <= 10; ++i) {
            lasting.put(i);
            Stream stream(channel, whole_numbers(), std::make_unique<Sum>());
            run(channel, stream, 100);
            CHECK(Sum::number_at(stream.result().data()) == 5050 * world_size());
            lasting.put(i);
        }
        CHECK(lasting.statistics().memory_bytes > 0);
        lasting.terminate();
        lasting.operate();
        CHECK(Sum::number_at(lasting.result().data()) == 110 * world_size());
        channel.close();
    }
}
