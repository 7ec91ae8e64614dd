// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/parts_along.hpp"

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"

namespace fluvial::stage {
namespace {

Region box(Index offset, Index extent) {
    return {{offset, 0}, {extent, 3}};
}

const Region chunk{{100, 0}, {10, 3}};

TEST_CASE("what was read of a step is wanted of the next") {
    PartsRead read;
    read.note(7, chunk, box(0, 10));
    read.note(2, chunk, box(4, 2));
    CHECK(read.parts() == std::vector<PartAlong>{{2, chunk, box(4, 2)}, {7, chunk, box(0, 10)}});
}

TEST_CASE("boxes of a chunk that fit together are one, others are not wanted") {
    PartsRead read;
    read.note(0, chunk, box(0, 5));
    read.note(0, chunk, box(5, 5));
    read.note(0, chunk, box(2, 2));  // again
    read.note(1, chunk, box(0, 1));
    read.note(1, chunk, box(9, 1));
    CHECK(read.parts() == std::vector<PartAlong>{{0, chunk, box(0, 10)}});
}

TEST_CASE("all data of a step lies without gaps but for what its items and large chunks need") {
    StepForm form;
    DatasetDescription bytes, reals;
    bytes.name = "a";
    reals.name = "b";
    reals.dtype = DType::Float64;
    for (const Index count : {Index{3}, Index{5000}}) {
        bytes.chunks.push_back({box(0, count), 0, {}});
    }
    reals.chunks.push_back({box(0, 1), 1, {}});
    form.trails = {{{&bytes.name, &bytes, 0}, {&bytes.name, &bytes, 1}},
                   {{&reals.name, &reals, 0}}};
    form.layout = 1;
    DataAlong along;
    along.follow(form);
    const auto pieces = along.pieces();
    REQUIRE(pieces.size() == 3);
    CHECK((pieces[0].at == 0 && pieces[0].bytes == 9));
    CHECK((pieces[1].at == 64 && pieces[1].bytes == 15000));
    CHECK((pieces[2].at == 15064 && pieces[2].bytes == 24));
    CHECK(along.bytes() == 15088);

    form.trails.pop_back();
    form.layout = 2;
    along.follow(form);
    CHECK(along.bytes() == 15064);
}

TEST_CASE("parts come through a message as they are") {
    const std::vector<PartAlong> parts{{2, chunk, box(4, 2)}, {7, {{}, {}}, {{}, {}}}};
    ByteWriter out;
    put(out, parts);
    ByteReader in(out.view());
    CHECK(get_parts(in) == parts);
    CHECK(in.done());
}

TEST_CASE("parts that make no sense are refused") {
    const auto refused = [](const std::vector<PartAlong>& parts) {
        ByteWriter out;
        put(out, parts);
        ByteReader in(out.view());
        CHECK_THROWS_AS(get_parts(in), Error);
    };
    refused({{0, chunk, box(4, 7)}});
    refused({{0, chunk, {{0}, {1}}}});
    refused({{1, chunk, box(0, 1)}, {1, chunk, box(1, 1)}});
    ByteWriter out;
    out.put<std::uint32_t>(0xffffffff);
    ByteReader in(out.view());
    CHECK_THROWS_AS(get_parts(in), Error);
}

}  // namespace
}  // namespace fluvial::stage
