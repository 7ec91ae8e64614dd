// SPDX-License-Identifier: Apache-2.0
// Dimensions in groups; others are what the tests of series are about.
#include "fluvial/scan/record_axis.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/scan/joined_files.hpp"
#include "fluvial/scan/scan_fixture.hpp"
#include "fluvial/store/raw.hpp"

using namespace fluvial;
using namespace fluvial::scan;

namespace {

/// A file of raw numbers, with dimensions as netCDF-4 has them.
class GroupedFile final : public store::File {
  public:
    explicit GroupedFile(const std::string& path)
        : raw_(store::open_raw(path, {{DType::Float64, {2}, 0, false, "g/time", {"time"}},
                                      {DType::Float64, {2, 2}, 0, false, "g/t", {"time", "x"}},
                                      {DType::Float64, {2, 2}, 0, false, "g/in/t", {"time", "y"}},
                                      {DType::Float64, {2}, 0, false, "t", {"time"}}})) {}

    const std::string& path() const override { return raw_->path(); }
    std::string format() const override { return raw_->format(); }
    const Attributes& attributes() const override { return raw_->attributes(); }
    const std::vector<store::Dimension>& dimensions() const override {
        static const std::vector<store::Dimension> all = {
            {"time", 2}, {"g/time", 2, true}, {"g/x", 2}, {"g/in/y", 2}};
        return all;
    }
    const std::vector<std::string>& names() const override { return raw_->names(); }
    DatasetPtr dataset(const std::string& name) const override { return raw_->dataset(name); }

  private:
    std::shared_ptr<const store::File> raw_;
};

ScratchFile four(double first) {
    const std::vector<double> numbers = {first, first + 1, first + 2, first + 3};
    const auto bytes = std::as_bytes(std::span(numbers));
    return ScratchFile(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

}  // namespace

TEST_CASE("a dataset calls a dimension as the nearest group outwards does") {
    const ScratchFile numbers = four(0);
    const GroupedFile file(numbers.path());
    CHECK(record_dimension(file, false) == "g/time");
    CHECK(records_along(file, "g/time") == 2);
    CHECK(axis_along(file, *file.dataset("g/t"), "g/time") == 0);
    CHECK(axis_along(file, *file.dataset("g/in/t"), "g/time") == 0);
    CHECK(axis_along(file, *file.dataset("g/in/t"), "g/in/y") == 1);
    CHECK_FALSE(axis_along(file, *file.dataset("t"), "g/time"));
    CHECK_FALSE(axis_along(file, *file.dataset("g/t"), "time"));
    CHECK_THROWS_WITH_AS(records_along(file, "step"),
                         doctest::Contains("has no dimension of the steps"), InvalidArgument);
}

TEST_CASE("files are joined along a dimension in a group") {
    const ScratchFile one = four(0), two = four(4);
    const JoinedFiles files(std::vector<JoinedFiles::FilePtr>{
        std::make_shared<GroupedFile>(one.path()), std::make_shared<GroupedFile>(two.path())});
    CHECK(files.dimension() == "g/time");
    CHECK(files.parts_of("g/t").size() == 2);
    CHECK(files.parts_of("g/in/t").size() == 2);
    CHECK(files.parts_of("t").size() == 1);
    CHECK(files.values_of("g/time") == std::vector<double>{0, 1, 4, 5});
    CHECK_THROWS_WITH_AS(files.values_of("t"), doctest::Contains("got 4 at 0"), InvalidArgument);
}
