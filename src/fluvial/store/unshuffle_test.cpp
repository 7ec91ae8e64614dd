// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/unshuffle.hpp"

#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/fletcher32.hpp"

using namespace fluvial::store;

namespace {

const fluvial::TestSeed seed(20240617);

std::vector<std::byte> random_bytes(std::size_t n, std::mt19937& random) {
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) {
        b = static_cast<std::byte>(random());
    }
    return bytes;
}

/// As HDF5 defines it: byte b of element i goes to plane b, place i.
std::vector<std::byte> shuffle(const std::vector<std::byte>& in, std::size_t element_bytes) {
    std::vector<std::byte> out = in;
    const std::size_t count = in.size() / element_bytes;
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t b = 0; b < element_bytes; ++b) {
            out[b * count + i] = in[i * element_bytes + b];
        }
    }
    return out;
}

/// As H5_checksum_fletcher32 has it: big-endian words, sums folded every 360 words.
std::uint32_t plain_fletcher32(const std::vector<std::byte>& data) {
    std::uint32_t first = 0, second = 0;
    const auto fold = [&] {
        first = (first & 0xffff) + (first >> 16);
        second = (second & 0xffff) + (second >> 16);
    };
    for (std::size_t i = 0; i < data.size(); i += 2) {
        first += std::to_integer<std::uint32_t>(data[i]) << 8;
        first += i + 1 < data.size() ? std::to_integer<std::uint32_t>(data[i + 1]) : 0;
        second += first;
        if (i / 2 % 360 == 359) {
            fold();
        }
    }
    fold();
    fold();
    return second << 16 | first;
}

}  // namespace

TEST_CASE("unshuffle brings back what was shuffled, for any size, on every instruction set") {
    std::mt19937 random(seed);
    CAPTURE(seed);
    for (int round = 0; round < 600; ++round) {
        const std::size_t element_bytes = round % 3 == 0 ? 1 + random() % 17 : 1U << random() % 4;
        const std::size_t bytes = random() % (round % 5 == 0 ? 20000 : 700);
        const auto wanted = random_bytes(bytes, random);
        const auto planes = shuffle(wanted, element_bytes);
        for (const Unshuffler& by : unshufflers()) {
            CAPTURE(by.isa);
            CAPTURE(element_bytes);
            CAPTURE(bytes);
            std::vector<std::byte> elements(bytes + 1, std::byte{0xa5});
            unshuffle(planes, element_bytes, std::span(elements).first(bytes), by);
            REQUIRE(elements.back() == std::byte{0xa5});
            elements.pop_back();
            REQUIRE(elements == wanted);
        }
    }
}

TEST_CASE("elements as long as the data, or longer, and none at all") {
    std::mt19937 random(seed);
    const auto wanted = random_bytes(100, random);
    std::vector<std::byte> elements(100);
    for (const std::size_t element_bytes : {0UL, 1UL, 51UL, 100UL, 101UL, 1UL << 40}) {
        unshuffle(wanted, element_bytes, elements);
        if (element_bytes != 51) {
            CHECK(elements == wanted);
        }
    }
    unshuffle({}, 4, {});
}

TEST_CASE("fletcher32 agrees with HDF5's loop, whatever the length and content") {
    std::mt19937 random(seed);
    CAPTURE(seed);
    for (int round = 0; round < 400; ++round) {
        const std::size_t bytes = random() % (round % 10 == 0 ? 100000 : 300);
        auto data = random_bytes(bytes, random);
        if (round % 4 == 1) {
            data.assign(bytes, std::byte{0xff});  // the largest sums, and multiples of 65535
        } else if (round % 4 == 2) {
            data.assign(bytes, std::byte{0});
        }
        CAPTURE(bytes);
        CAPTURE(round % 4);
        REQUIRE(fletcher32(data) == plain_fletcher32(data));
    }
}
