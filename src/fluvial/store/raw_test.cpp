// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/raw.hpp"

#include <numeric>

#include "fluvial/base/error.hpp"
#include "fluvial/store/format_conformance.hpp"
#include "fluvial/store/memory_file.hpp"

using namespace fluvial;
using namespace fluvial::store;

namespace {

class Raw {
  public:
    explicit Raw(std::size_t bytes) : bytes_(counted(bytes)), file_(bytes_) {}
    std::shared_ptr<const File> open(const RawLayout& layout) const {
        return open_raw(file_.path(), layout);
    }
    std::string path() const { return file_.path(); }
    const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    static std::vector<std::byte> counted(std::size_t count) {
        std::vector<std::byte> bytes(count);
        for (std::size_t i = 0; i < count; ++i) {
            bytes[i] = static_cast<std::byte>(i * 37 % 251);
        }
        return bytes;
    }

    std::vector<std::byte> bytes_;
    MemoryFile file_;
};

std::vector<std::byte> read_all(const Dataset& dataset) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(volume_of(dataset.shape())) *
                                 size_of(dataset.dtype()));
    dataset.read(whole(dataset.shape()),
                 {bytes.data(), dataset.dtype(), dataset.shape(),
                  contiguous_strides(dataset.shape(), size_of(dataset.dtype()))});
    return bytes;
}

template <class Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const InvalidArgument& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("every dtype, from any offset, in both byte orders") {
    const Raw raw(1000);
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        const std::size_t item = size_of(dtype);
        const std::size_t part = item / (is_complex(dtype) ? 2 : 1);
        CAPTURE(name_of(dtype));
        for (const bool swapped : {false, true}) {
            const auto file = raw.open({dtype, {3, 5, 2}, 13, swapped});
            const auto dataset = file->dataset("data");
            auto expected = std::vector(raw.bytes().begin() + 13,
                                        raw.bytes().begin() + 13 + static_cast<Index>(30 * item));
            for (std::size_t i = 0; swapped && i < expected.size(); i += part) {
                std::reverse(expected.begin() + static_cast<Index>(i),
                             expected.begin() + static_cast<Index>(i + part));
            }
            CHECK(read_all(*dataset) == expected);
            FormatConformance(*dataset, static_cast<std::uint32_t>(100 + number)).run(20);
        }
    }
}

TEST_CASE("scalars and arrays of nothing") {
    const Raw raw(8);
    const auto scalar = raw.open({DType::Float64, {}, 0, false, "scalar"})->dataset("scalar");
    CHECK(read_all(*scalar) == raw.bytes());
    FormatConformance(*scalar, 7).run();
    const auto nothing = raw.open({DType::Float64, {3, 0, 2}, 8})->dataset("data");
    FormatConformance(*nothing, 8).run();
}

TEST_CASE("several datasets, with dimensions and attributes") {
    const Raw raw(64);
    const auto file = open_raw(
        raw.path(),
        {{DType::Float32, {2, 4}, 0, false, "t", {"y", "x"}, {{"units", std::string("K")}}},
         {DType::Int16, {4}, 32, true, "p", {"x"}},
         {DType::UInt8, {5}, 40, false, "q", {""}}},
        {{"title", std::string("dump")}});
    CHECK(file->format() == "raw");
    CHECK(file->names() == std::vector<std::string>{"t", "p", "q"});
    CHECK(file->dimensions() == std::vector<Dimension>{{"y", 2, false}, {"x", 4, false}});
    CHECK(file->attributes() == Attributes{{"title", std::string("dump")}});
    CHECK(file->dataset("t")->attributes() == Attributes{{"units", std::string("K")}});
    CHECK(file->dataset("q")->dimensions() == std::vector<std::string>{""});
    CHECK(refusal([&] { static_cast<void>(file->dataset("r")); }).find("'t', 'p', 'q'") !=
          std::string::npos);
}

TEST_CASE("layouts that the file cannot have") {
    const Raw raw(100);
    const auto why = [&](const RawLayout& layout) { return refusal([&] { raw.open(layout); }); };
    CHECK(why({DType::Float32, {5, 5}}) == "accepted");
    const std::string longer = why({DType::Float32, {5, 5}, 1});
    CHECK(longer.find("got 100 bytes; allowed: 100 bytes from byte 1 on") != std::string::npos);
    CHECK(why({DType::UInt8, {0}, 101}).find("shorter") != std::string::npos);
    CHECK(why({DType::UInt8, {1}, ~0ULL}).find("shorter") != std::string::npos);
    constexpr Index large = Index{1} << 40;
    CHECK(why({DType::UInt8, {large, large}}).find("shape out of range") != std::string::npos);
    CHECK(why({DType::UInt8, {0, large, large}}).find("shape out of range") != std::string::npos);
    CHECK(why({DType::UInt8, {-1}}).find("shape out of range") != std::string::npos);
    CHECK(why({DType::UInt8, {2}, 0, false, ""}).find("name of its own") != std::string::npos);
    CHECK(why({DType::UInt8, {2}, 0, false, "a", {"x", "y"}}).find("0 or 1") != std::string::npos);
    const auto both = [&](const RawLayout& one, const RawLayout& other) {
        return refusal([&] { open_raw(raw.path(), {one, other}); });
    };
    CHECK(both({DType::UInt8, {2}}, {DType::UInt8, {2}}).find("name of its own") !=
          std::string::npos);
    CHECK(both({DType::UInt8, {2}, 0, false, "a", {"x"}}, {DType::UInt8, {3}, 0, false, "b", {"x"}})
              .find("two lengths") != std::string::npos);
}
