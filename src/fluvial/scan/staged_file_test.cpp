// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/staged_file.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"
#include "fluvial/compute/registry.hpp"
#include "fluvial/scan/scan.hpp"
#include "fluvial/stage/reduce.hpp"
#include "fluvial/stage/writer.hpp"

using namespace fluvial;
using compute::make_operator;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A step with t of shape (4, 3) in two chunks, in a stream of one process.
struct Staged {
    Staged()
        : directory(std::filesystem::temp_directory_path() / text("fluvial_staged_", ::getpid())) {
        std::filesystem::create_directory(directory);
        stage::WriterOptions options;
        options.readers = 0;
        options.directory = directory;
        writer.emplace("staged", mpi::Comm(), options);
        {
            stage::WriteStep put = writer->begin_step({{"run", std::string("test")},
                                                       {"meshes@solver", 1.0},
                                                       {"@iteration", std::int64_t{9}}});
            for (const Index first : {0, 2}) {
                const ArrayView half(reinterpret_cast<const std::byte*>(values.data() + 3 * first),
                                     DType::Float64, {2, 3});
                put.put("t", half, {first, 0}, {4, 3}, {{"_FillValue", -9.0}});
            }
            put.put(
                "by/x",
                ArrayView(reinterpret_cast<const std::byte*>(values.data()), DType::Float64, {3}),
                {0}, {3});
            put.put(
                "same",
                ArrayView(reinterpret_cast<const std::byte*>(equal.data()), DType::Float64, {3}),
                {0}, {3});
            put.end();
        }
        reader.emplace("staged", mpi::Comm(), stage::ReaderOptions{.directory = directory});
        step = reader->next();
    }
    ~Staged() { std::filesystem::remove_all(directory); }

    std::vector<double> values = {1, 2, 3, 4, nan, 6, -9, 8, 9, 10, 11, 12};
    std::vector<double> equal = {7, 7, 7};
    std::filesystem::path directory;
    std::optional<stage::Writer> writer;
    std::optional<stage::Reader> reader;
    std::optional<stage::ReadStep> step;
};

}  // namespace

TEST_CASE("a live step is scanned like a file, with conditions and missing values") {
    Staged staged;
    const auto file = scan::as_file(*staged.step, "step 0 of 'staged'");
    CHECK(file->path() == "step 0 of 'staged'");
    CHECK(file->attributes() == Attributes{{"run", std::string("test")}});  // not those of groups
    const auto t = file->dataset("t");
    CHECK(t->dimensions() == std::vector<std::string>{"", ""});
    CHECK(file->dataset("by/x")->dimensions() == std::vector<std::string>{""});
    std::vector<std::string> warnings;
    const auto decoding = scan::cf_decoding(t->attributes(), t->dtype(), t->name(), warnings);
    const mpi::Comm alone;
    const auto outcome =
        scan::run({{{{t}, decoding}},
                   {},
                   {{"sum", make_operator("sum"), {}}, {"count", make_operator("count"), {}}},
                   {0},
                   {},
                   {scan::compare(0, scan::Comparison::Greater, 1.5)},
                   {}},
                  {}, alone);
    const auto& found = outcome.groups.front();
    for (int column = 0; column < 3; ++column) {  // without 1, NaN and -9
        CHECK(found.at("sum").at("value").as<double>()[column] ==
              std::vector<double>{14, 21, 30}[static_cast<std::size_t>(column)]);
        CHECK(found.at("count").at("value").as<std::int64_t>()[column] ==
              std::vector<std::int64_t>{2, 3, 4}[static_cast<std::size_t>(column)]);
    }
    staged.step->finish();
    compute::Array to(DType::Float64, {4, 3});
    CHECK_THROWS_WITH_AS(t->read(whole({4, 3}), {to.bytes.data(), to.dtype, to.shape,
                                                 contiguous_strides(to.shape, sizeof(double))}),
                         doctest::Contains("has ended"), InvalidArgument);
}

TEST_CASE("a reduction of a step passes over NaN unless told otherwise") {
    Staged staged;
    const mpi::Comm alone;
    stage::ReduceRequest request;
    request.datasets = {"t"};
    request.entries = {{"mean", make_operator("mean"), {}},
                       {"kept", make_operator("mean", {{"skipna", false}}), {}}};
    const auto found = stage::reduce(*staged.step, request, alone);
    CHECK(*found.at("mean").at("value").as<double>() == doctest::Approx(57.0 / 11));
    CHECK(std::isnan(*found.at("kept").at("value").as<double>()));
    request.by = stage::ReduceRequest::By::Scan;
    CHECK(stage::reduce(*staged.step, request, alone).empty());
}

TEST_CASE("of equal elements of a step the last is the first along axes counted backwards") {
    Staged staged;
    const mpi::Comm alone;
    stage::ReduceRequest request;
    request.datasets = {"same"};
    request.entries = {{"least", make_operator("argmin"), {}}};
    const std::vector<std::uint8_t> counts = {1, 1, 0};
    request.mask = ArrayView(reinterpret_cast<const std::byte*>(counts.data()), DType::UInt8, {3});
    const auto place = [&] {
        const auto found = stage::reduce(*staged.step, request, alone);
        return found.at("least").at("coordinates").as<std::int64_t>()[0];
    };
    CHECK(place() == 0);
    request.backwards = {0};
    CHECK(place() == 1);
    request.backwards = {1};
    CHECK_THROWS_WITH_AS(place(), doctest::Contains("no such axis: got 1"), InvalidArgument);
}
