// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic.hpp"

#include <limits>
#include <string>

#include "fluvial/base/error.hpp"
#include "fluvial/store/format_conformance.hpp"
#include "fluvial/store/memory_file.hpp"
#include "fluvial/store/netcdf_classic_fixture.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

using Type = ClassicType;

/// Variables of every type of this version: scalars, plain arrays, and records that interleave.
ClassicFixture rich(int version) {
    ClassicFixture made{version, 4};
    made.dimensions = {{"time", 0}, {"y", 3}, {"x", 5}, {"odd", 7}};
    const auto types = version == 5 ? 11U : 6U;
    for (std::uint32_t number = 1; number <= types; ++number) {
        const auto type = static_cast<Type>(number);
        const std::string suffix = std::to_string(number);
        made.variables.push_back({"scalar" + suffix, {}, type});
        made.variables.push_back({"plane" + suffix, {1, 3}, type});
        made.variables.push_back({"series" + suffix, {0}, type});
        made.variables.push_back({"record" + suffix, {0, 3, 2}, type});
    }
    return made;
}

ClassicFixture narrow(int version, Type type, std::uint64_t records) {
    ClassicFixture made{version, records};
    made.dimensions = {{"time", 0}, {"odd", 3}};
    made.variables = {{"plane", {1}, Type::Float}, {"lone", {0, 1}, type}};
    return made;
}

std::shared_ptr<const File> open(const std::vector<std::byte>& bytes) {
    const MemoryFile file(bytes);
    return open_netcdf_classic(file.path());
}

std::vector<double> read_all(const Dataset& dataset) {
    return dispatch(dataset.dtype(), [&]<class T>() {
        const auto count = static_cast<std::size_t>(volume_of(dataset.shape()));
        std::vector<T> stored(count);
        dataset.read(
            whole(dataset.shape()),
            MutableArrayView{reinterpret_cast<std::byte*>(stored.data()), dataset.dtype(),
                             dataset.shape(), contiguous_strides(dataset.shape(), sizeof(T))});
        std::vector<double> values(count);
        if constexpr (!std::is_same_v<T, std::complex<float>> &&
                      !std::is_same_v<T, std::complex<double>>) {
            std::transform(stored.begin(), stored.end(), values.begin(),
                           [](T x) { return static_cast<double>(x); });
        }
        return values;
    });
}

void check_values(const File& file, const ClassicFixture& made) {
    for (std::size_t i = 0; i < made.variables.size(); ++i) {
        const auto& variable = made.variables[i];
        if (variable.type == Type::Char) {
            continue;
        }
        CAPTURE(variable.name);
        const auto dataset = file.dataset(variable.name);
        std::vector<double> expected(static_cast<std::size_t>(volume_of(dataset->shape())));
        for (std::size_t k = 0; k < expected.size(); ++k) {
            expected[k] = ClassicFixture::value(i, k);
        }
        CHECK(read_all(*dataset) == expected);
        FormatConformance(*dataset, static_cast<std::uint32_t>(2024 + i)).run(20);
    }
}

template <class Thrown = DamagedFile>
std::string why_not(const std::vector<std::byte>& bytes) {
    try {
        open(bytes);
    } catch (const Thrown& error) {
        return error.what();
    }
    return "opened";
}

bool says(const std::string& message, const std::string& part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
    return message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every type, fixed and in records, in every version") {
    for (const int version : {1, 2, 5}) {
        CAPTURE(version);
        const ClassicFixture made = rich(version);
        const auto file = open(made.build());
        CHECK(file->format() == text("netCDF classic (CDF-", version, ")"));
        CHECK(file->dimensions() ==
              std::vector<Dimension>{
                  {"time", 4, true}, {"y", 3, false}, {"x", 5, false}, {"odd", 7, false}});
        CHECK(file->names().size() == made.variables.size() - 4);  // but text
        const auto record = file->dataset("record3");
        CHECK(record->dtype() == DType::Int16);
        CHECK(record->shape() == Coordinates{4, 7, 5});
        CHECK(record->dimensions() == std::vector<std::string>{"time", "odd", "x"});
        check_values(*file, made);
    }
}

TEST_CASE("a lone record variable of a narrow type is not padded") {
    for (const Type type : {Type::Byte, Type::Short, Type::Double}) {
        const ClassicFixture made = narrow(2, type, 5);
        const auto file = open(made.build());
        const auto layout = std::get<Affine>(file->dataset("lone")->layout());
        CHECK(layout.strides[0] == static_cast<Index>(3 * size_of(type)));
        check_values(*file, made);
    }
    ClassicFixture two = narrow(1, Type::Byte, 5);
    two.variables.push_back({"second", {0}, Type::Byte});
    const auto file = open(two.build());
    CHECK(std::get<Affine>(file->dataset("lone")->layout()).strides[0] == 8);
    check_values(*file, two);
}

TEST_CASE("attributes of all types") {
    ClassicFixture made{5, 0};
    const double third = static_cast<float>(1.0 / 3.0);
    made.attributes = {{"title", Type::Char, "an \xc3\xa9t\xc3\xa9", {}},
                       {"padded", Type::Char, std::string("K\0\0\0", 4), {}},
                       {"latin",
                        Type::Char,
                        "\xb0"
                        "C",
                        {}},
                       {"nothing", Type::Char, "", {}},
                       {"byte", Type::Byte, "", {-7}},
                       {"shorts", Type::Short, "", {-1, 2, -32768}},
                       {"int", Type::Int, "", {-2147483648.0}},
                       {"third", Type::Float, "", {third}},
                       {"doubles", Type::Double, "", {0.1, -1e300}},
                       {"ubyte", Type::UByte, "", {255}},
                       {"ushort", Type::UShort, "", {65535}},
                       {"uint", Type::UInt, "", {4294967295.0}},
                       {"int64", Type::Int64, "", {-9007199254740992.0}},
                       {"uint64", Type::UInt64, "", {9223372036854775808.0}},
                       {"none", Type::Int, "", {}}};
    made.dimensions = {{"x", 2}};
    made.variables = {{"v", {0}, Type::Double, {{"units", Type::Char, "m s-1", {}}}}};
    const auto file = open(made.build());
    const Attributes expected = {{"title", std::string("an \xc3\xa9t\xc3\xa9")},
                                 {"padded", std::string("K")},
                                 {"latin", std::string("\xc2\xb0"
                                                       "C")},
                                 {"nothing", std::string()},
                                 {"byte", std::int64_t{-7}},
                                 {"shorts", std::vector<std::int64_t>{-1, 2, -32768}},
                                 {"int", std::int64_t{-2147483648}},
                                 {"third", third},
                                 {"doubles", std::vector<double>{0.1, -1e300}},
                                 {"ubyte", std::int64_t{255}},
                                 {"ushort", std::int64_t{65535}},
                                 {"uint", std::int64_t{4294967295}},
                                 {"int64", std::int64_t{-9007199254740992}},
                                 {"uint64", Unsigned(std::uint64_t{1} << 63)},
                                 {"none", std::vector<std::int64_t>{}}};
    CHECK(file->attributes() == expected);
    CHECK(file->dataset("v")->attributes() == Attributes{{"units", std::string("m s-1")}});
}

TEST_CASE("text is a dimension's user but no dataset") {
    ClassicFixture made{1, 2};
    made.dimensions = {{"time", 0}, {"length", 19}};
    made.variables = {{"Times", {0, 1}, Type::Char}, {"t", {0}, Type::Float}};
    const auto file = open(made.build());
    CHECK(file->names() == std::vector<std::string>{"t"});
    CHECK(file->dimensions()[1].length == 19);
    CHECK_THROWS_WITH_AS(static_cast<void>(file->dataset("Times")), doctest::Contains("NC_CHAR"),
                         InvalidArgument);
    CHECK_THROWS_WITH_AS(static_cast<void>(file->dataset("T")), doctest::Contains("'t'"),
                         InvalidArgument);
    check_values(*file, made);
}

TEST_CASE("no records, and datasets of nothing") {
    for (const int version : {1, 2, 5}) {
        ClassicFixture made = rich(version);
        made.records = 0;
        const auto file = open(made.build());
        CHECK(file->dataset("record5")->shape() == Coordinates{0, 7, 5});
        check_values(*file, made);
        const ClassicFixture empty{version, 0};
        CHECK(open(empty.build())->names().empty());
    }
}

TEST_CASE("streaming: the file's size says how many records there are") {
    for (const int version : {1, 2, 5}) {
        ClassicFixture made{version, 3};
        made.dimensions = {{"time", 0}, {"odd", 3}};
        made.variables = {{"a", {0, 1}, Type::Double}, {"b", {0, 1}, Type::Byte}};
        made.promised_records = std::numeric_limits<std::uint64_t>::max();
        auto bytes = made.build();
        check_values(*open(bytes), made);
        bytes.pop_back();  // of the padding
        CHECK(open(bytes)->dimensions()[0].length == 3);
        bytes.pop_back();
        CHECK(open(bytes)->dimensions()[0].length == 2);
        bytes.resize(made.header().size());
        CHECK(open(bytes)->dimensions()[0].length == 0);
        made.variables.clear();
        CHECK(open(made.build())->dimensions()[0].length == 0);
    }
}

TEST_CASE("more records promised than there are") {
    ClassicFixture made{2, 3};
    made.dimensions = {{"time", 0}, {"odd", 3}};
    made.variables = {{"a", {0, 1}, Type::Double}, {"b", {0, 1}, Type::Byte}};
    made.promised_records = 10;
    const std::string why = why_not(made.build());
    CHECK(says(why, "3 whole records"));
    CHECK(says(why, "10"));
    made.promised_records = 2;  // the header was not brought up to date
    CHECK(open(made.build())->dataset("a")->shape() == Coordinates{2, 3});
}

TEST_CASE("a file that ends too early, but for padding") {
    ClassicFixture made{1, 0};
    made.dimensions = {{"odd", 3}};
    made.variables = {{"a", {0}, Type::Short}, {"b", {0}, Type::Byte}};
    auto bytes = made.build();
    bytes.pop_back();
    check_values(*open(bytes), made);
    bytes.pop_back();
    CHECK(says(why_not(bytes), "'b'"));
}

TEST_CASE("lengths that 32 bits cannot hold are computed, not believed") {
    ClassicFixture made{2, 0};
    made.dimensions = {{"y", 3'000'000'000}, {"x", 3'000'000'000}};
    made.variables = {{"huge", {0, 1}, Type::Byte}};
    CHECK(says(why_not(made.header()), "9000000000000000000 bytes of 'huge'"));
    made.variables[0].type = Type::Double;
    CHECK(says(why_not(made.header()), "more than 2^63 bytes for 'huge'"));
    made.dimensions.push_back({"time", 0});
    made.variables = {{"a", {2, 0, 1}, Type::Byte}, {"b", {2, 0, 1}, Type::Byte}};
    CHECK(says(why_not(made.header()), "more than 2^63 bytes for 'b'"));
}

TEST_CASE("headers that make no sense") {
    ClassicFixture made{1, 2};
    made.dimensions = {{"time", 0}, {"x", 3}};
    made.variables = {{"a", {0, 1}, Type::Float}};
    SUBCASE("a dimension that is not there") {
        made.variables[0].dimensions = {0, 1};
        auto bytes = made.build();
        // magic, records, list, two dimensions, no attributes, list, name, count, first dimension
        const std::size_t place = 4 + 4 + 8 + (4 + 4 + 4) + (4 + 4 + 4) + 8 + 8 + 8 + 4 + 4;
        REQUIRE(bytes[place + 3] == std::byte{1});
        bytes[place + 3] = std::byte{2};
        CHECK(says(why_not(bytes), "dimension that is not there"));
    }
    SUBCASE("the unlimited dimension behind others") {
        auto bytes = made.build();
        const std::size_t place = 4 + 4 + 8 + (4 + 4 + 4) + (4 + 4 + 4) + 8 + 8 + 8 + 4;
        bytes[place + 3] = std::byte{1};
        bytes[place + 7] = std::byte{0};
        CHECK(says(why_not(bytes), "not its first"));
    }
    SUBCASE("two unlimited dimensions") {
        made.dimensions.push_back({"run", 0});
        CHECK(says(why_not(made.build()), "two dimensions are unlimited"));
    }
    SUBCASE("names that are there twice") {
        made.dimensions.push_back({"x", 4});
        CHECK(says(why_not(made.build()), "same name: got 'x'"));
        made.dimensions.pop_back();
        made.variables.push_back({"a", {1}, Type::Float});
        CHECK(says(why_not(made.build()), "same name: got 'a'"));
        made.variables.pop_back();
        made.attributes = {{"h", Type::Char, "1", {}}, {"h", Type::Char, "2", {}}};
        CHECK(says(why_not(made.build()), "same name: got 'h'"));
    }
    SUBCASE("names of nothing and of control characters") {
        made.variables[0].name = "";
        CHECK(says(why_not(made.build()), "a name is empty"));
        made.variables[0].name = "a\nb";
        CHECK(says(why_not(made.build()), "control character"));
    }
    SUBCASE("types of another version") {
        made.variables[0].type = Type::UInt;
        CHECK(says(why_not(made.build()), "a type is unknown: got 9"));
        made.version = 5;
        CHECK(open(made.build())->dataset("a")->dtype() == DType::UInt32);
    }
    SUBCASE("data inside the header") {
        auto bytes = made.header();
        std::fill_n(bytes.rbegin(), 4, std::byte{0});  // begin, its last number
        CHECK(says(why_not(bytes), "'a' at byte 0"));
    }
}

TEST_CASE("names in Latin-1, and more axes than arrays have") {
    ClassicFixture made{1, 0};
    made.dimensions = {{"x", 1}};
    made.variables = {{"temp\xe9rature", {0}, Type::Int},
                      {"deep", std::vector<std::size_t>(17, 0), Type::Int},
                      {"just", std::vector<std::size_t>(16, 0), Type::Int}};
    const auto file = open(made.build());
    CHECK(file->names() == std::vector<std::string>{"temp\xc3\xa9rature", "just"});
    CHECK_THROWS_WITH_AS(static_cast<void>(file->dataset("deep")),
                         doctest::Contains("17 dimensions"), InvalidArgument);
}
