// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/bytes.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;

namespace {

ByteWriter sample() {
    ByteWriter out;
    out.put<std::int16_t>(-7);
    out.put(2.5);
    out.put_string(std::string("a\0b", 3));
    out.put_string("");
    out.put_vector(std::vector<std::int64_t>{1, -2, 3});
    out.put_vector(std::vector<float>{});
    return out;
}

void take_sample(ByteReader& in) {
    CHECK(in.get<std::int16_t>() == -7);
    CHECK(in.get<double>() == 2.5);
    CHECK(in.get_string() == std::string("a\0b", 3));
    CHECK(in.get_string().empty());
    CHECK(in.get_vector<std::int64_t>() == std::vector<std::int64_t>{1, -2, 3});
    CHECK(in.get_vector<float>().empty());
}

}  // namespace

TEST_CASE("what was appended comes off in order, and nothing more") {
    const ByteWriter out = sample();
    ByteReader in(out.view());
    take_sample(in);
    CHECK(in.done());
    CHECK_THROWS_AS(in.get<std::uint8_t>(), Error);
}

TEST_CASE("every truncation is an error that says how much is missing") {
    const ByteWriter out = sample();
    for (std::size_t bytes = 0; bytes < out.size(); ++bytes) {
        CAPTURE(bytes);
        ByteReader in(out.view().first(bytes));
        CHECK_THROWS_WITH_AS(
            [&] {
                in.get<std::int16_t>();
                in.get<double>();
                in.get_string();
                in.get_string();
                in.get_vector<std::int64_t>();
                in.get_vector<float>();
            }(),
            doctest::Contains("needed"), Error);
    }
}

TEST_CASE("a length beyond the message is refused before memory is taken for it") {
    for (const std::uint64_t length :
         {std::uint64_t{1}, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max(),
          std::numeric_limits<std::uint64_t>::max() / 8 + 1}) {
        CAPTURE(length);
        ByteWriter out;
        out.put(length);
        CHECK_THROWS_AS(ByteReader(out.view()).get_string(), Error);
        CHECK_THROWS_AS(ByteReader(out.view()).get_block(), Error);
        CHECK_THROWS_AS(ByteReader(out.view()).get_vector<std::int64_t>(), Error);
    }
}

TEST_CASE("an aligned block lies at a multiple of 16 bytes of the message") {
    const std::array<double, 3> values{1, 2, 3};
    ByteWriter out;
    for (int before = 0; before < 20; ++before) {
        out.put<std::uint8_t>(7);
        out.put_aligned_block(values.data(), sizeof values);
    }
    const Bytes message = out.take();
    ByteReader in(message);
    for (int before = 0; before < 20; ++before) {
        CHECK(in.get<std::uint8_t>() == 7);
        const auto block = in.get_aligned_block();
        CHECK((block.data() - message.data()) % 16 == 0);
        REQUIRE(block.size() == sizeof values);
        CHECK(std::memcmp(block.data(), values.data(), sizeof values) == 0);
    }
    CHECK(in.done());
    ByteWriter whole;
    whole.put_aligned_block(values.data(), sizeof values);
    ByteReader one_byte_short(whole.view().first(whole.size() - 1));
    CHECK_THROWS_AS(one_byte_short.get_aligned_block(), Error);
}

TEST_CASE("taking the bytes leaves a writer that begins anew") {
    ByteWriter out = sample();
    const Bytes bytes = out.take();
    CHECK_FALSE(bytes.empty());
    out.clear();
    CHECK(out.size() == 0);
    out.put<std::uint8_t>(1);
    CHECK(out.view().size() == 1);
}
