// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/decompressor.hpp"

#include <array>
#include <cstdint>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/store/chunk_decoder.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

#ifdef FLUVIAL_WITH_DEFLATE
constexpr bool with_deflate = true;
#else
constexpr bool with_deflate = false;
#endif
#ifdef FLUVIAL_WITH_ZSTD
constexpr bool with_zstd = true;
#else
constexpr bool with_zstd = false;
#endif
#ifdef FLUVIAL_WITH_BLOSC
constexpr bool with_blosc = true;
#else
constexpr bool with_blosc = false;
#endif

ChunkDecoder decoder_of(Filter::Kind kind) {
    return ChunkDecoder(Chunked{{4}, {{kind, 1}}, false, {}}, DType::UInt8);
}

/// Four bytes 'a' as the filter's own tools encode them.
constexpr std::array<std::uint8_t, 12> zlib_stream = {0x78, 0x9c, 0x4b, 0x4c, 0x4c, 0x4c,
                                                      0x04, 0x00, 0x03, 0xce, 0x01, 0x85};
constexpr std::array<std::uint8_t, 24> gzip_member = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b, 0x4c,
    0x4c, 0x4c, 0x04, 0x00, 0x45, 0xe5, 0x98, 0xad, 0x04, 0x00, 0x00, 0x00};
constexpr std::array<std::uint8_t, 13> zstd_frame = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x04, 0x21,
                                                     0x00, 0x00, 0x61, 0x61, 0x61, 0x61};

constexpr std::array<std::uint8_t, 20> blosc_buffer = {0x02, 0x01, 0x32, 0x01, 0x04, 0x00, 0x00,
                                                       0x00, 0x04, 0x00, 0x00, 0x00, 0x14, 0x00,
                                                       0x00, 0x00, 0x61, 0x61, 0x61, 0x61};

template <class Stream>
void check(Filter::Kind kind, bool built, const Stream& stream, const char* option) {
    CAPTURE(name_of(kind));
    CHECK(is_built(kind) == built);
    if (!built) {
        for (const char* word : {name_of(kind), option}) {
            CHECK_THROWS_WITH_AS(make_decompressor(kind), doctest::Contains(word), InvalidArgument);
            CHECK_THROWS_WITH_AS(decoder_of(kind), doctest::Contains(word), InvalidArgument);
        }
        return;
    }
    const auto in = std::as_bytes(std::span(stream));
    std::array<std::byte, 4> out{};
    const auto outcome = make_decompressor(kind)->run(in, out, true);
    CHECK(outcome.wrong == "");
    CHECK(outcome.bytes == 4);
    CHECK(out[3] == std::byte{'a'});
    CHECK(make_decompressor(kind)->run(in.first(5), out, true).wrong != "");
    CHECK(decoder_of(kind).decode(in, 0, "a chunk").size() == 4);
}

}  // namespace

TEST_CASE("a filter whose library the build leaves out is refused by name") {
    check(Filter::Kind::Deflate, with_deflate, zlib_stream, "-DFLUVIAL_DEFLATE=ON");
    check(Filter::Kind::Gzip, with_deflate, gzip_member, "-DFLUVIAL_DEFLATE=ON");
    check(Filter::Kind::Zstd, with_zstd, zstd_frame, "-DFLUVIAL_ZSTD=ON");
    check(Filter::Kind::Blosc, with_blosc, blosc_buffer, "-DFLUVIAL_BLOSC=ON");
}

TEST_CASE("filters without a library are always there") {
    CHECK(is_built(Filter::Kind::Shuffle));
    CHECK(is_built(Filter::Kind::Fletcher32));
    CHECK(is_built(Filter::Kind::Crc32c));
    CHECK(is_built(Filter::Kind::Transpose));
    CHECK_NOTHROW(decoder_of(Filter::Kind::Shuffle));
}
