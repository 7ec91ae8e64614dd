// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/chunk_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <doctest/doctest.h>
#include <libdeflate.h>
#include <zstd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/describe/index_walk.hpp"
#include "fluvial/store/crc32c.hpp"
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

Stored gzipped(const Stored& in) {
    libdeflate_compressor* tool = libdeflate_alloc_compressor(6);
    Stored out(libdeflate_gzip_compress_bound(tool, in.size()));
    out.resize(libdeflate_gzip_compress(tool, in.data(), in.size(), out.data(), out.size()));
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

Stored with_checksum(Stored in, std::uint32_t sum) {
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
                   : filters[i].kind == Kind::Gzip    ? gzipped(data)
                   : filters[i].kind == Kind::Shuffle ? shuffled(data, filters[i].element_bytes)
                   : filters[i].kind == Kind::Crc32c  ? with_checksum(data, crc32c(data))
                                                      : with_checksum(data, fletcher32(data));
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
    constexpr Kind kinds[] = {Kind::Deflate, Kind::Shuffle, Kind::Fletcher32,
                              Kind::Zstd,    Kind::Gzip,    Kind::Crc32c};
    std::mt19937 random(seed);
    CAPTURE(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<Filter> filters(random() % 5);
        for (Filter& filter : filters) {
            filter.kind = kinds[random() % std::size(kinds)];
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
    for (const Kind kind : {Kind::Fletcher32, Kind::Crc32c}) {
        const std::vector<Filter> filters = {{Kind::Shuffle, 4}, {Kind::Deflate}, {kind}};
        ChunkDecoder decoder(chunked(200, filters), DType::Float32);
        const Stored stored = encoded(field(200), filters, 0);
        REQUIRE(error_of(decoder, stored).empty());
        const std::string wanted =
            text("chunk (7,) of 'T' is damaged (filter ", name_of(kind), ")");
        for (std::size_t at = 0; at < stored.size(); ++at) {
            for (const int flip : {0x01, 0x80, 0xff}) {
                Stored changed = stored;
                changed[at] ^= static_cast<std::byte>(flip);
                CAPTURE(at);
                REQUIRE(error_of(decoder, changed).starts_with(wanted));
            }
        }
        for (std::size_t length = 0; length < stored.size(); ++length) {
            REQUIRE(!error_of(decoder, std::span(stored).first(length)).empty());
        }
    }
}

TEST_CASE("CRC-32C of what RFC 3720 has it of") {
    const Stored zeros(32), ones(32, std::byte{0xff});
    CHECK(crc32c(zeros) == 0x8a9136aa);
    CHECK(crc32c(ones) == 0x62a8ab43);
    CHECK(crc32c(std::as_bytes(std::span("123456789", 9))) == 0xe3069283);
    CHECK(crc32c({}) == 0);
}

TEST_CASE("gzip of several members") {
    const Stored data = field(100);
    Stored stored = gzipped({data.begin(), data.begin() + 123});
    const Stored second = gzipped({data.begin() + 123, data.end()});
    stored.insert(stored.end(), second.begin(), second.end());
    ChunkDecoder decoder(chunked(100, {{Kind::Gzip}}), DType::Float32);
    const auto got = decoder.decode(stored, 0, "chunk");
    CHECK(std::equal(got.begin(), got.end(), data.begin(), data.end()));
    stored.push_back(std::byte{0});
    CHECK(error_of(decoder, stored).find("no gzip stream") != std::string::npos);
}

TEST_CASE("axes of a chunk that were stored in another order") {
    const Coordinates chunk{2, 3, 5};
    std::vector<std::uint16_t> numbers(30);
    std::iota(numbers.begin(), numbers.end(), std::uint16_t{0});
    for (const Coordinates& axes :
         {Coordinates{2, 1, 0}, Coordinates{1, 2, 0}, Coordinates{0, 1, 2}}) {
        CAPTURE(text(axes));
        std::vector<std::uint16_t> turned;
        const Coordinates extent{chunk[int(axes[0])], chunk[int(axes[1])], chunk[int(axes[2])]};
        for_each_index(extent, [&](const Coordinates& at) {
            Coordinates place(3, 0);
            for (int axis = 0; axis < 3; ++axis) {
                place[int(axes[axis])] = at[axis];
            }
            turned.push_back(numbers[static_cast<std::size_t>(linear_index(place, chunk))]);
        });
        const auto bytes = std::as_bytes(std::span(turned));
        for (const bool packed : {false, true}) {
            std::vector<Filter> filters = {{Kind::Transpose, 0, axes}};
            Stored stored(bytes.begin(), bytes.end());
            if (packed) {
                filters.push_back({Kind::Zstd});
                stored = zstd_packed(stored);
            }
            ChunkDecoder decoder({chunk, filters, false, Stored(2)}, DType::UInt16);
            const auto got = decoder.decode(stored, 0, "chunk");
            CHECK(std::memcmp(got.data(), numbers.data(), got.size()) == 0);
            decoder.decode_apart(stored, 0, "chunk");
            CHECK(std::memcmp(decoder.elements(7, 2).data(), numbers.data() + 7, 4) == 0);
            CHECK(!error_of(decoder, Stored(stored.size() - 1)).empty());
        }
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
    for (const Kind kind : {Kind::Deflate, Kind::Gzip, Kind::Zstd}) {
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
    for (const Kind kind : {Kind::Deflate, Kind::Gzip, Kind::Zstd}) {
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
