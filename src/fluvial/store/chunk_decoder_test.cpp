// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/chunk_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <libdeflate.h>
#include <zstd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/fletcher32.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Kind = Filter::Kind;
using Stored = std::vector<std::byte>;
const TestSeed seed(20240618);

Stored deflated(const Stored& in) {
    libdeflate_compressor* tool = libdeflate_alloc_compressor(6);
    Stored out(libdeflate_zlib_compress_bound(tool, in.size()));
    out.resize(libdeflate_zlib_compress(tool, in.data(), in.size(), out.data(), out.size()));
    libdeflate_free_compressor(tool);
    return out;
}

Stored zstd_packed(const Stored& in) {
    Stored out(ZSTD_compressBound(in.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), 3));
    return out;
}

Stored shuffled(const Stored& in, std::size_t element_bytes) {
    Stored out = in;
    const std::size_t count = in.size() / element_bytes;
    for (std::size_t i = 0; i < count * element_bytes; ++i) {
        out[i % element_bytes * count + i / element_bytes] = in[i];
    }
    return out;
}

Stored with_checksum(Stored in) {
    const std::uint32_t sum = fletcher32(in);
    for (int i = 0; i < 4; ++i) {
        in.push_back(static_cast<std::byte>(sum >> (8 * i)));
    }
    return in;
}

Stored encoded(Stored data, const std::vector<Filter>& filters, std::uint32_t left_out) {
    for (std::size_t i = 0; i < filters.size(); ++i) {
        if ((left_out >> i & 1) == 0) {
            data = filters[i].kind == Kind::Deflate   ? deflated(data)
                   : filters[i].kind == Kind::Zstd    ? zstd_packed(data)
                   : filters[i].kind == Kind::Shuffle ? shuffled(data, filters[i].element_bytes)
                                                      : with_checksum(data);
        }
    }
    return data;
}

/// Smooth data, as a float32 chunk of a field is.
Stored field(std::size_t elements) {
    Stored data(elements * 4);
    for (std::size_t i = 0; i < elements; ++i) {
        const float value = 273.0F + static_cast<float>(i % 97) * 0.25F;
        std::memcpy(data.data() + 4 * i, &value, 4);
    }
    return data;
}

Chunked chunked(Index elements, std::vector<Filter> filters) {
    return {{elements}, std::move(filters), false, Stored(4)};
}

std::string error_of(ChunkDecoder& decoder, std::span<const std::byte> stored) {
    try {
        decoder.decode(stored, 0, "chunk (7,) of 'T'");
    } catch (const DamagedFile& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("any filters in any order, and any of them left out") {
    std::mt19937 random(seed);
    CAPTURE(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<Filter> filters(random() % 5);
        for (Filter& filter : filters) {
            filter.kind = static_cast<Kind>(random() % 4);
            filter.element_bytes = static_cast<std::uint32_t>(1 + random() % 9);
        }
        const Index elements = static_cast<Index>(1 + random() % 3000);
        ChunkDecoder decoder(chunked(elements, filters), DType::Float32);
        for (int chunk = 0; chunk < 3; ++chunk) {
            const std::uint32_t left_out = random() % 32;
            Stored data = field(static_cast<std::size_t>(elements));
            data[random() % data.size()] ^= std::byte{1};
            const Stored stored = encoded(data, filters, left_out);
            const auto got = decoder.decode(stored, left_out, "chunk");
            REQUIRE(std::equal(got.begin(), got.end(), data.begin(), data.end()));
            decoder.decode_apart(stored, left_out, "chunk");
            for (int part = 0; part < 3; ++part) {
                const std::size_t first = random() % static_cast<std::size_t>(elements);
                const std::size_t count =
                    random() % (static_cast<std::size_t>(elements) - first + 1);
                const auto some = decoder.elements(first, count);
                REQUIRE(std::equal(
                    some.begin(), some.end(), data.begin() + static_cast<std::ptrdiff_t>(4 * first),
                    data.begin() + static_cast<std::ptrdiff_t>(4 * (first + count))));
            }
        }
    }
}

TEST_CASE("without filters nothing is copied") {
    ChunkDecoder decoder(chunked(10, {}), DType::Float32);
    const Stored data = field(10);
    CHECK(decoder.decode(data, 0, "chunk").data() == data.data());
    CHECK(decoder.chunk_bytes() == 40);
    CHECK(error_of(decoder, std::span(data).first(39)).find("39 bytes") != std::string::npos);
}

TEST_CASE("no byte of a chunk with a checksum changes unnoticed") {
    const std::vector<Filter> filters = {{Kind::Shuffle, 4}, {Kind::Deflate}, {Kind::Fletcher32}};
    ChunkDecoder decoder(chunked(200, filters), DType::Float32);
    const Stored data = field(200);
    const Stored stored = encoded(data, filters, 0);
    REQUIRE(error_of(decoder, stored).empty());
    for (std::size_t at = 0; at < stored.size(); ++at) {
        for (const int flip : {0x01, 0x80, 0xff}) {
            Stored changed = stored;
            changed[at] ^= static_cast<std::byte>(flip);
            CAPTURE(at);
            const std::string error = error_of(decoder, changed);
            REQUIRE(error.find("chunk (7,) of 'T' is damaged (filter fletcher32)") == 0);
        }
    }
    for (std::size_t length = 0; length < stored.size(); ++length) {
        REQUIRE(!error_of(decoder, std::span(stored).first(length)).empty());
    }
}

TEST_CASE("a checksum whose halves have swapped bytes, as HDF5 1.6 wrote it, is right") {
    const std::vector<Filter> filters = {{Kind::Fletcher32}};
    ChunkDecoder decoder(chunked(50, filters), DType::Float32);
    Stored stored = encoded(field(50), filters, 0);
    std::swap(stored[200], stored[201]);
    CHECK(!error_of(decoder, stored).empty());
    std::swap(stored[202], stored[203]);
    CHECK(error_of(decoder, stored).empty());
}

TEST_CASE("streams of the wrong length, bombs and garbage are errors") {
    for (const Kind kind : {Kind::Deflate, Kind::Zstd}) {
        const std::vector<Filter> filters = {{kind}};
        ChunkDecoder decoder(chunked(100, filters), DType::Float32);
        CAPTURE(name_of(kind));
        for (const std::size_t elements : {0UL, 99UL, 101UL, 1000000UL}) {
            const std::string error = error_of(decoder, encoded(field(elements), filters, 0));
            CHECK(error.find(text("(filter ", name_of(kind), ")")) != std::string::npos);
        }
        const Stored good = encoded(field(100), filters, 0);
        for (std::size_t length = 0; length < good.size(); ++length) {
            REQUIRE(!error_of(decoder, std::span(good).first(length)).empty());
        }
        // Flips may go unnoticed without a checksum (not with deflate's), but never overrun.
        for (std::size_t at = 0; at < good.size(); ++at) {
            Stored changed = good;
            changed[at] ^= std::byte{0x10};
            error_of(decoder, changed);
        }
        CHECK(error_of(decoder, good).empty());
    }
    // Two compressions: the length between them has only a bound.
    const std::vector<Filter> twice = {{Kind::Deflate}, {Kind::Zstd}};
    ChunkDecoder decoder(chunked(100, twice), DType::Float32);
    CHECK(error_of(decoder, encoded(field(100), twice, 0)).empty());
    CHECK(!error_of(decoder, encoded(Stored(1 << 20), {{Kind::Zstd}}, 0)).empty());
}

TEST_CASE("no memory is taken for more than a stream can stand for") {
    for (const Kind kind : {Kind::Deflate, Kind::Zstd}) {
        CAPTURE(name_of(kind));
        ChunkDecoder absurd(chunked(Index{1} << 44, {{kind}}), DType::Float32);
        const std::string error = error_of(absurd, encoded(field(100), {{kind}}, 0));
        CHECK(error.find(text("(filter ", name_of(kind), "): got a stream of ")) !=
              std::string::npos);
        // As short as they come: zeros.
        ChunkDecoder empty(chunked(Index{4} << 20, {{kind}}), DType::Float32);
        const Stored zeros(std::size_t{16} << 20);
        const Stored stored = encoded(zeros, {{kind}}, 0);
        CHECK(stored.size() < zeros.size() / 900);
        const auto got = empty.decode(stored, 0, "chunk");
        CHECK(std::equal(got.begin(), got.end(), zeros.begin(), zeros.end()));
    }
}

TEST_CASE("shuffle of a chunk that is longer than a chunk") {
    ChunkDecoder decoder(chunked(100, {{Kind::Shuffle, 4}}), DType::Float32);
    CHECK(error_of(decoder, field(101)).find("(filter shuffle)") != std::string::npos);
    CHECK(error_of(decoder, field(99)).find("396 bytes") != std::string::npos);
}
