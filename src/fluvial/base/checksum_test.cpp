// SPDX-License-Identifier: Apache-2.0
#include "fluvial/base/checksum.hpp"

#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace fluvial;

namespace {

/// What checksum.hpp says that the sum is, one lane after the other.
std::uint64_t spelled_out(std::span<const std::byte> bytes) {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t lane[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::size_t size = bytes.size();
    for (; bytes.size() >= 64; bytes = bytes.subspan(64)) {
        for (std::size_t i = 0; i < 8; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes.data() + 8 * i, 8);
            lane[i] = (lane[i] ^ word) * odd;
            lane[i] ^= lane[i] >> 32;
        }
    }
    return hash_of(std::as_bytes(std::span(lane))) ^ (hash_of(bytes) + size * odd);
}

}  // namespace

TEST_CASE("a checksum is the same on every processor, from any place, in any pieces") {
    std::mt19937_64 random(5);
    std::vector<std::byte> memory(5000);
    for (std::byte& byte : memory) {
        byte = static_cast<std::byte>(random());
    }
    for (int turn = 0; turn < 500; ++turn) {
        const std::size_t begin = random() % 100;
        const std::size_t size = turn < 200 ? static_cast<std::size_t>(turn) : random() % 4900;
        const auto bytes = std::span<const std::byte>(memory).subspan(begin, size);
        CAPTURE(size);
        REQUIRE(checksum_of(bytes) == spelled_out(bytes));
        const std::size_t cut = size == 0 ? 0 : random() % size / Checksum::block * Checksum::block;
        Checksum sum;
        sum.add(bytes.first(cut));
        sum.add(bytes.subspan(cut));
        REQUIRE(sum.value() == spelled_out(bytes));
    }
}

TEST_CASE("a checksum changes with any bit") {
    std::vector<std::byte> bytes(200, std::byte{7});
    const std::uint64_t before = checksum_of(bytes);
    for (std::size_t at = 0; at < bytes.size() * 8; ++at) {
        bytes[at / 8] ^= std::byte{1} << (at % 8);
        CHECK(checksum_of(bytes) != before);
        bytes[at / 8] ^= std::byte{1} << (at % 8);
    }
    CHECK(checksum_of(std::span(bytes).first(199)) != before);
}
