// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/file.hpp"

#include <cmath>
#include <limits>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/store/decompressor.hpp"
#include "fluvial/store/format_conformance.hpp"
#include "fluvial/store/zarr/fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

const TestSeed seed(20250611);
const bool packs = is_built(Filter::Kind::Deflate);

double counted(Index element) {
    return static_cast<double>(element % 100);
}

template <class T>
std::vector<T> read_all(const Dataset& dataset) {
    std::vector<T> values(static_cast<std::size_t>(volume_of(dataset.shape())));
    dataset.read(whole(dataset.shape()),
                 {reinterpret_cast<std::byte*>(values.data()), dataset.dtype(), dataset.shape(),
                  contiguous_strides(dataset.shape(), sizeof(T))});
    return values;
}

/// A folder with the array "t" alone, and what its metadata say.
struct Alone {
    explicit Alone(int version, MadeArray made = {DType::Int32, {5, 7}, {2, 3}}) : folder(version) {
        folder.array("t", made, counted);
        file = version == 3 ? "t/zarr.json" : "t/.zarray";
        metadata = version == 3 ? folder.metadata3(made) : folder.metadata2(made);
    }
    /// The same with the first `from` in its metadata replaced.
    std::shared_ptr<const File> with(const std::string& from, const std::string& to) const {
        const auto at = metadata.find(from);
        REQUIRE_MESSAGE(at != std::string::npos, from);
        std::string changed = metadata;
        folder.write(file, changed.replace(at, from.size(), to));
        return open_zarr(folder.path());
    }

    ZarrFixture folder;
    std::string file, metadata;
};

}  // namespace

TEST_CASE("arrays of both versions, in every layout, read by any part") {
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        for (const DType dtype : {DType::Int8, DType::UInt16, DType::Float32, DType::Complex128}) {
            for (int kind = 0; kind < 16; ++kind) {
                const bool packed = (kind & 2) != 0;
                if (packed && !packs) {
                    continue;
                }
                const MadeArray made{.dtype = dtype,
                                     .shape = {5, 7, 4},
                                     .chunk = {2, 3, 4},
                                     .dimensions = {"z", "y", "x"},
                                     .fill_value = "7",
                                     .big_endian = (kind & 1) != 0,
                                     .packed = packed,
                                     .turned = (kind & 4) != 0,
                                     .slashes = (kind & 8) != 0,
                                     .left_out = [](const Coordinates& cell) {
                                         return cell == Coordinates{1, 1, 0};
                                     }};
                folder.array(text(name_of(dtype), "/", kind), made, counted);
            }
            folder.group(std::string(name_of(dtype)));
        }
        const auto file = open_zarr(folder.path());
        CHECK(file->names().size() == (packs ? 64 : 32));
        CHECK(file->unreadable().empty());
        for (const std::string& name : file->names()) {
            CAPTURE(name);
            const auto dataset = file->dataset(name);
            CHECK(dataset->dimensions() == std::vector<std::string>{"z", "y", "x"});
            FormatConformance(*dataset, seed).run();
            if (dataset->dtype() == DType::UInt16) {
                const auto values = read_all<std::uint16_t>(*dataset);
                for (Index i = 0; i < 140; ++i) {
                    const Coordinates at = coordinates_of(i, dataset->shape());
                    const bool missing = at[0] / 2 == 1 && at[1] / 3 == 1;
                    REQUIRE(values[static_cast<std::size_t>(i)] == (missing ? 7 : counted(i)));
                }
            }
        }
    }
}

TEST_CASE("scalars, axes of length 0 and one chunk that is longer than the array") {
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        folder.array("scalar", {DType::Float64, {}, {}}, [](Index) { return 42.5; });
        folder.array("none", {DType::Int16, {3, 0}, {2, 5}}, counted);
        folder.array("short", {DType::Int16, {3}, {1000}}, counted);
        const auto file = open_zarr(folder.path());
        for (const std::string& name : file->names()) {
            FormatConformance(*file->dataset(name), seed).run();
        }
        CHECK(read_all<double>(*file->dataset("scalar")) == std::vector{42.5});
        CHECK(read_all<std::int16_t>(*file->dataset("short")) ==
              std::vector<std::int16_t>{0, 1, 2});
        CHECK(file->dataset("none")->shape() == Coordinates{3, 0});
    }
}

TEST_CASE("groups, attributes and dimensions") {
    for (const int version : {2, 3}) {
        const ZarrFixture folder(version);
        folder.group("",
                     R"("title": "waves", "levels": [1, 2], "scale": 0.5, "tree": {"a": [null]})");
        folder.group("deep", R"("units": "m")");
        const std::vector<std::string> dims = {"time", "x"};
        folder.array("t",
                     {.shape = {4, 3},
                      .chunk = {1, 3},
                      .dimensions = dims,
                      .attributes = R"("units": "K", "missing_value": NaN)"},
                     counted);
        folder.array("deep/t", {.shape = {4, 5}, .chunk = {4, 5}, .dimensions = dims}, counted);
        const auto file = open_zarr(folder.path());
        CHECK(file->format() == text("Zarr (version ", version, ")"));
        CHECK(file->path() == folder.path());
        CHECK(file->names() == std::vector<std::string>{"deep/t", "t"});
        CHECK(file->groups() == std::vector<std::string>{"deep"});
        CHECK(file->attributes() == Attributes{{"title", "waves"},
                                               {"levels", std::vector<std::int64_t>{1, 2}},
                                               {"scale", 0.5},
                                               {"tree", R"({"a": [null]})"}});
        CHECK(file->group_attributes("deep") == Attributes{{"units", "m"}});
        CHECK(file->group_attributes("") == file->attributes());
        CHECK_THROWS_WITH_AS(file->group_attributes("dep"), doctest::Contains("'deep'"),
                             InvalidArgument);
        const Attributes attributes = file->dataset("/t")->attributes();
        CHECK(std::get<std::string>(attributes.at("units")) == "K");
        CHECK(std::isnan(std::get<double>(attributes.at("missing_value"))));
        CHECK(attributes.size() == (version == 2 ? 3 : 2));  // with _FillValue, the fill value
        CHECK(file->dimensions() == std::vector<Dimension>{{"time", 4, true}, {"x", 3, false}});
    }
}

TEST_CASE("what this reader does not have is refused by name, with the way to read it") {
    struct Case {
        const char *from, *to, *said;
    };
    const Case cases2[] = {
        {R"("compressor": null)", R"("compressor": {"id": "lz4"})", "codec 'lz4'"},
        {R"("filters": null)", R"("filters": [{"id": "delta", "dtype": "<i4"}])", "codec 'delta'"},
        {"[5, 7]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "17 dimensions"}};
    const Case cases3[] = {
        {R"({"name": "bytes")", R"({"name": "sharding_indexed"}, {"name": "bytes")",
         "codec 'sharding_indexed'"},
        {R"({"name": "bytes")", R"({"name": "vlen-utf8"}, {"name": "bytes")", "codec 'vlen-utf8'"},
        {R"("name": "regular")", R"("name": "rectilinear")", "chunk_grid 'rectilinear'"},
        {R"("name": "default")", R"("name": "fanout")", "chunk_key_encoding 'fanout'"},
        {R"("fill_value")", R"("storage_transformers": [{"name": "a"}], "fill_value")",
         "storage_transformers"},
        {R"("fill_value")", R"("new": {"name": "a"}, "fill_value")", "extension 'new'"},
        {R"({"name": "bytes")",
         R"({"name": "transpose", "configuration": {"order": "F"}}, {"name": "bytes")",
         "transpose"}};
    const auto check = [](const Alone& alone, const Case& one) {
        CAPTURE(one.said);
        const auto file = alone.with(one.from, one.to);
        CHECK(file->names() == std::vector<std::string>{"t"});
        CHECK(file->unreadable().at("t").find(one.said) != std::string::npos);
        CHECK_THROWS_WITH_AS(file->dataset("t"), doctest::Contains(one.said), InvalidArgument);
        CHECK_THROWS_WITH_AS(file->dataset("t"), doctest::Contains("fluvial.open"),
                             InvalidArgument);
    };
    for (const Case& one : cases2) {
        check(Alone(2), one);
    }
    for (const Case& one : cases3) {
        check(Alone(3), one);
    }
    const Alone alone(3);
    CHECK(alone.with(R"("fill_value")", R"("new": {"must_understand": false}, "fill_value")")
              ->unreadable()
              .empty());
}

TEST_CASE("arrays of no numbers are not among the names") {
    const Alone second(2), third(3);
    for (const auto& file :
         {second.with(R"("<i4")", R"("<U8")"), second.with(R"("<i4")", R"([["a", "<i4"]])"),
          third.with(R"("int32")", R"("string")"),
          third.with(R"("int32")", R"({"name": "numpy.datetime64", "configuration": {}})")}) {
        CHECK(file->names().empty());
        CHECK_THROWS_WITH_AS(file->dataset("t"), doctest::Contains("cannot compute on 't'"),
                             InvalidArgument);
    }
}

TEST_CASE("metadata that make no sense are damaged, and say where") {
    struct Case {
        const char *from, *to;
    };
    const Case cases2[] = {
        {"[5, 7]", "[5, -7]"},
        {"[5, 7]", "[5, 7.5]"},
        {"[5, 7]", "[5]"},
        {"[5, 7]", "\"5\""},
        {"[5, 7]", "[4611686018427387904, 4]"},
        {"[5, 7]", "[0, 9223372036854775807]"},
        {"[2, 3]", "[2, 0]"},
        {"[2, 3]", "[2, 3, 1]"},
        {"[2, 3]", "[2097152, 2097152]"},
        {"\"<i4\"", "\"i4\""},
        {"\"<i4\"", "4"},
        {R"("fill_value": 0)", R"("fill_value": 2147483648)"},
        {R"("fill_value": 0)", R"("fill_value": 0.5)"},
        {R"("fill_value": 0)", R"("fill_value": "NaN")"},
        {R"("fill_value": 0, )", ""},
        {R"("order": "C")", R"("order": "A")"},
        {R"("compressor": null)", R"("compressor": 5)"},
        {R"("filters": null)", R"("filters": {"id": "zlib"})"},
        {R"("filters": null)", R"("filters": [{"id": "shuffle", "elementsize": 0}])"},
        {R"("dimension_separator": ".")", R"("dimension_separator": "-")"},
        {R"("zarr_format": 2)", R"("zarr_format": 3)"},
        {R"("zarr_format": 2)", R"("zarr_format": "2")"},
        {"}", ""}};
    const Case cases3[] = {
        {"[5, 7]", "[5, -7]"},
        {"[2, 3]", "[2, 0]"},
        {R"("name": "bytes")", R"("name": "gzip")"},
        {R"("endian": "little")", R"("endian": "middle")"},
        {R"({"endian": "little"})", "{}"},
        {R"({"name": "bytes")", R"({"name": "bytes"}, {"name": "bytes")"},
        {R"({"name": "bytes")",
         R"({"name": "transpose", "configuration": {"order": [0, 0]}}, {"name": "bytes")"},
        {R"({"name": "bytes")",
         R"({"name": "transpose", "configuration": {"order": [0, 1, 2]}}, {"name": "bytes")"},
        {R"("separator": ".")", R"("separator": 1)"},
        {R"("node_type": "array")", R"("node_type": "arrow")"},
        {R"("node_type": "array", )", ""},
        {R"("fill_value": 0)", R"("fill_value": [0, 0])"},
        {R"("attributes": {})", R"("attributes": [1])"},
        {R"("attributes": {})", R"("attributes": {"a": 1, "a": 2})"}};
    const auto check = [](const Alone& alone, const Case& one) {
        CAPTURE(one.from);
        CAPTURE(one.to);
        const auto file = alone.with(one.from, one.to);
        CHECK(file->names() == std::vector<std::string>{"t"});
        CHECK(file->unreadable().contains("t"));
        CHECK_THROWS_WITH_AS(file->dataset("t"), doctest::Contains(alone.file.c_str()),
                             DamagedFile);
    };
    for (const Case& one : cases2) {
        check(Alone(2), one);
    }
    for (const Case& one : cases3) {
        check(Alone(3), one);
    }
}

TEST_CASE("a root that makes no sense is an error of the whole folder") {
    const ZarrFixture folder(3);
    for (const std::string& content :
         {std::string(""), std::string("{"), std::string("[]"), std::string("{}"),
          std::string(R"({"zarr_format": 4, "node_type": "group"})"), std::string(100000, '['),
          std::string(R"({"zarr_format": 3, "node_type": "group", "attributes": 5})")}) {
        folder.write("zarr.json", content);
        CHECK_THROWS_WITH_AS(open_zarr(folder.path()), doctest::Contains("zarr.json'"),
                             DamagedFile);
    }
    folder.remove("zarr.json");
    CHECK_FALSE(is_zarr(folder.path()));
    folder.write(".zmetadata", R"({"metadata": {"t/.zarray": {"zarr_format": 2}}})");
    CHECK_THROWS_WITH_AS(open_zarr(folder.path()), doctest::Contains("without those of the root"),
                         DamagedFile);
    folder.write(".zmetadata", R"({"metadata": [1]})");
    CHECK_THROWS_WITH_AS(open_zarr(folder.path()), doctest::Contains(".zmetadata'"), DamagedFile);
}

TEST_CASE("consolidated metadata that are damaged give way to those of each array") {
    const Alone alone(2);
    const std::string consolidated =
        R"({"metadata": {".zgroup": {"zarr_format": 2}, "u/.zarray": )" + alone.metadata + "}}";
    alone.folder.write(".zmetadata", consolidated);
    CHECK(open_zarr(alone.folder.path())->names() == std::vector<std::string>{"u"});
    alone.folder.write(".zmetadata", consolidated.substr(0, 60));
    CHECK(open_zarr(alone.folder.path())->names() == std::vector<std::string>{"t"});
}

TEST_CASE("chunks that are damaged name their file") {
    for (const bool packed : {false, true}) {
        if (packed && !packs) {
            continue;
        }
        const Alone alone(
            2, {.dtype = DType::Int32, .shape = {5, 7}, .chunk = {2, 3}, .packed = packed});
        const auto dataset = open_zarr(alone.folder.path())->dataset("t");
        const auto good = read_all<std::int32_t>(*dataset);
        for (const std::string& content :
             {std::string(), std::string("a"), std::string(23, 'b'), std::string(25, 'c'),
              std::string(100, 'd'), std::string(1 << 20, 'e')}) {
            alone.folder.write("t/1.2", content);
            CHECK_THROWS_WITH_AS(read_all<std::int32_t>(*dataset), doctest::Contains("t/1.2'"),
                                 DamagedFile);
        }
        alone.folder.remove("t/1.2");
        alone.folder.write("t/1.2/x", "");
        CHECK_THROWS_WITH_AS(read_all<std::int32_t>(*dataset), doctest::Contains("is no file"),
                             DamagedFile);
        alone.folder.remove("t/1.2/x");
        alone.folder.remove("t/1.2");
        CHECK_FALSE(dataset->is_stored({{2, 5}, {1, 2}}));
        CHECK(dataset->is_stored({{0, 0}, {5, 6}}));
        auto expected = good;
        for (const std::size_t at : {20, 27}) {  // (2, 6) and (3, 6)
            expected[at] = 0;
        }
        CHECK(read_all<std::int32_t>(*dataset) == expected);
    }
}
