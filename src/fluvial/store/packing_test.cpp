// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/packing.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/chunk_decoder.hpp"
#include "fluvial/store/chunk_packer.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

std::string refusal_of(const std::string& said, const std::string& engine = "hdf5") {
    try {
        static_cast<void>(to_compression(said, engine));
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "";
}

bool has(const std::string& all, const std::string& part) {
    return all.find(part) != std::string::npos;
}

Chunk put_of(const Coordinates& offset, const Coordinates& extent) {
    return {{offset, extent}, 0, {}};
}

}  // namespace

TEST_CASE("a codec, and its level or the usual one") {
    CHECK(to_compression("", "netcdf").level == 0);
    CHECK(to_compression("none", "hdf5").codec == "none");
    for (const std::string said : {"zstd", "gzip9", "gzip:", "gzip:x", "gzip:3 ", "Gzip", ":9"}) {
        CAPTURE(said);
        CHECK(has(refusal_of(said), "'" + said + "'"));
    }
    for (const std::string said : {"gzip:0", "gzip:10", "gzip:-1"}) {
        CHECK(has(refusal_of(said), "1 to 9"));
    }
    CHECK(has(refusal_of("gzip", "netcdf"), "netcdf"));
#ifdef FLUVIAL_WITH_DEFLATE
    CHECK(to_compression("gzip", "hdf5").level == 4);
    CHECK(to_compression("gzip:9", "hdf5").level == 9);
#endif
}

TEST_CASE("chunks fit what was put, where that is regular") {
    CHECK(chunk_of({7, 6}, {put_of({4, 0}, {3, 6}), put_of({0, 0}, {4, 6})}, 8, 1000) ==
          Coordinates{4, 6});
    CHECK(chunk_of({7, 6}, {put_of({0, 0}, {3, 6}), put_of({3, 0}, {4, 6})}, 8, 1000) ==
          Coordinates{3, 6});
    CHECK(chunk_of({7, 6}, {put_of({0, 0}, {4, 6}), put_of({4, 0}, {1, 6}), put_of({5, 0}, {2, 6})},
                   8, 1000) == Coordinates{7, 6});
    CHECK(chunk_of({1000, 6}, {put_of({0, 0}, {1000, 6})}, 8, 4800) == Coordinates{63, 6});
    CHECK(chunk_of({24, 6}, {put_of({0, 0}, {12, 6}), put_of({12, 0}, {12, 6})}, 8, 250) ==
          Coordinates{4, 6});
    CHECK(chunk_of({2, 100}, {}, 8, 80) == Coordinates{1, 7});
}

#ifdef FLUVIAL_WITH_DEFLATE
TEST_CASE("what was packed is unpacked by the filters that HDF5 names") {
    std::mt19937 random(test_seed(20261126));
    for (const DType dtype : {DType::Int8, DType::Int16, DType::Float32, DType::Float64,
                              DType::Complex64, DType::Complex128}) {
        for (const bool noise : {false, true}) {
            const std::size_t width = size_of(dtype);
            const std::size_t count = 1000 + random() % 20000;
            std::vector<std::byte> elements(count * width);
            for (std::size_t i = 0; i < elements.size(); ++i) {
                elements[i] = static_cast<std::byte>(noise ? random() : i / width % 50);
            }
            ChunkPacker packer(6);
            for (int again = 0; again < 2; ++again) {
                const auto packed = packer.pack(elements, width);
                CHECK(packed.filters_left_out == (noise ? 2U : 0U));
                Chunked layout;
                layout.chunk = {static_cast<Index>(count)};
                layout.filters = {{Filter::Kind::Shuffle, static_cast<std::uint32_t>(width)},
                                  {Filter::Kind::Deflate, 0}};
                ChunkDecoder decoder(layout, dtype);
                const auto back =
                    decoder.decode(packed.bytes, packed.filters_left_out, "the chunk");
                CHECK(std::equal(back.begin(), back.end(), elements.begin(), elements.end()));
                CHECK((noise || packed.bytes.size() < elements.size() / 2 + 100));
            }
        }
    }
}
#endif
