// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/attribute.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"

using namespace fluvial;

namespace {

const TestSeed seed(20261);

Attributes sample() {
    return {
        {"flag", true},
        {"off", false},
        {"count", std::int64_t{-42}},
        {"most", std::numeric_limits<std::int64_t>::max()},
        {"unitSI", 1e-10},
        {"infinite", std::numeric_limits<double>::infinity()},
        {"text", std::string("Å and a \0 inside", 16)},
        {"", std::string()},
        {"axes", std::vector<std::string>{"x", "", "zeta"}},
        {"unitDimension", std::vector<double>{1, 0, 0, 0, 0, 0, 0.5}},
        {"shape", std::vector<std::int64_t>{}},
        {"beyond", Unsigned(std::numeric_limits<std::uint64_t>::max())},
        {"all", std::vector<Unsigned>{Unsigned(1), Unsigned(std::uint64_t{1} << 63)}},
    };
}

Bytes encoded(const Attributes& attributes) {
    ByteWriter out;
    encode(out, attributes);
    return out.take();
}

}  // namespace

TEST_CASE("each kind of attribute survives the way through bytes") {
    const Bytes bytes = encoded(sample());
    ByteReader in(bytes);
    CHECK(decode_attributes(in) == sample());
    CHECK(in.done());
}

TEST_CASE("NaN stays NaN") {
    const Bytes bytes = encoded({{"nothing", std::numeric_limits<double>::quiet_NaN()}});
    ByteReader in(bytes);
    CHECK(std::isnan(std::get<double>(decode_attributes(in).at("nothing"))));
}

TEST_CASE("the numbers of the types are part of the format") {
    const std::vector<Attribute> kinds = {false,
                                          std::int64_t{},
                                          0.0,
                                          std::string(),
                                          std::vector<std::int64_t>{},
                                          std::vector<double>{},
                                          std::vector<std::string>{},
                                          Unsigned(),
                                          std::vector<Unsigned>{}};
    for (std::size_t number = 0; number < kinds.size(); ++number) {
        // count (4 bytes), name length (8), name "a" (1), number
        CHECK(static_cast<std::size_t>(encoded({{"a", kinds[number]}})[13]) == number);
    }
}

TEST_CASE("an unsigned integer is an int64 where it fits") {
    constexpr std::uint64_t beyond = std::uint64_t{1} << 63;
    CHECK(attribute_of(beyond - 1) == Attribute(std::numeric_limits<std::int64_t>::max()));
    CHECK(attribute_of(beyond) == Attribute(Unsigned(beyond)));
    CHECK(attribute_of({7, 8}) == Attribute(std::vector<std::int64_t>{7, 8}));
    CHECK(attribute_of({7, beyond}) ==
          Attribute(std::vector<Unsigned>{Unsigned(7), Unsigned(beyond)}));
}

TEST_CASE("numbers as floats") {
    using Floats = std::vector<double>;
    constexpr std::uint64_t beyond = std::uint64_t{1} << 63;
    CHECK(floats_of(std::int64_t{-2}) == Floats{-2});
    CHECK(floats_of(Unsigned(beyond)) == Floats{0x1p63});
    CHECK(floats_of(std::vector<Unsigned>{Unsigned(3)}) == Floats{3});
    CHECK(floats_of(Floats{0.5, 1}) == Floats{0.5, 1});
    CHECK_FALSE(floats_of(std::string("2")));
    CHECK_FALSE(floats_of(true));
}

TEST_CASE("the text of an attribute, or nothing") {
    const Attributes attributes{{"units", std::string("K")}, {"valid_max", 3.5}};
    CHECK(text_of(attributes, "units") == "K");
    CHECK(text_of(attributes, "valid_max").empty());
    CHECK(text_of(attributes, "none").empty());
}

TEST_CASE("an unknown type is named") {
    Bytes bytes = encoded({{"a", true}});
    bytes[13] = std::byte{9};
    ByteReader in(bytes);
    CHECK_THROWS_WITH_AS(decode_attributes(in),
                         doctest::Contains("unknown type: got 9; allowed: 0 to 8"), Error);
}

TEST_CASE("corrupt attributes are an error or other attributes, never a crash") {
    std::mt19937 random(seed);
    const Bytes good = encoded(sample());
    int refused = 0;
    for (int round = 0; round < 5000; ++round) {
        Bytes bytes = good;
        for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
            bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << (random() % 8));
        }
        if (random() % 4 == 0) {
            bytes.resize(random() % bytes.size());
        }
        ByteReader in(bytes);
        try {
            decode_attributes(in);
        } catch (const Error&) {
            ++refused;
        }
    }
    CHECK(refused > 500);
}

TEST_CASE("NaN says what NaN says") {
    using Numbers = std::vector<double>;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const Attributes said = {{"_FillValue", nan}, {"range", Numbers{0, nan}}, {"units", "K"}};
    CHECK(say_the_same(said, said));
    CHECK(!say_the_same(said, {{"_FillValue", nan}, {"range", Numbers{0, nan}}}));
    CHECK(!say_the_same(Attribute(nan), Attribute(1.0)));
    CHECK(!say_the_same(Attribute(Numbers{0, nan}), Attribute(Numbers{0})));
    CHECK(!say_the_same(Attribute(1.0), Attribute(std::int64_t{1})));
    CHECK(!say_the_same(Attribute(std::string("a")), Attribute(std::string("b"))));
}
