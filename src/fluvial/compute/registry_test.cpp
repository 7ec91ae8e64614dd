// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/registry.hpp"

#include <doctest/doctest.h>

#include "fluvial/compute/apply.hpp"
#include "fluvial/compute/operators/mpi_function.hpp"
#include "fluvial/compute/operators/structure_factor.hpp"
#include "fluvial/compute/reduction.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

std::vector<double> edges(double last) {
    return {0, 1, last};
}

void first(void*, void*, int*, void*) {}

class Own final : public Operator {
  public:
    explicit Own(std::string version) : version_(std::move(version)) {}
    std::string name() const override { return "own"; }
    std::string version() const override { return version_; }
    std::unique_ptr<Partial> identity(const Domain&) const override { return nullptr; }

  private:
    std::string version_;
};

}  // namespace

TEST_CASE("an operator is described by its name and options, with their defaults") {
    CHECK(make_operator("sum")->describe() == "sum(skipna=true)");
    CHECK(make_operator("sum", {{"skipna", false}})->describe() == "sum(skipna=false)");
    CHECK(make_operator("sum", {{"skipna", true}})->describe() == "sum(skipna=true)");
    const auto histogram = [](const Options& options) {
        return make_operator("histogram", options)->describe();
    };
    CHECK(histogram({{"edges", edges(2)}}) == "histogram(edges=[0, 1, 2], skipna=false)");
    CHECK(histogram({{"edges", edges(2)}}) != histogram({{"edges", edges(2.0000000000000004)}}));
    // Different ways to say the same.
    CHECK(make_operator("std", {{"ddof", std::int64_t{1}}})->describe() ==
          make_operator("std", {{"ddof", 1.0}})->describe());
    for (const Registration& entry : registrations()) {
        CAPTURE(entry.name);
        const auto op = make_operator(entry.name, entry.example);
        CHECK(op->describe() == make_operator(entry.name, entry.example)->describe());
        CHECK(op->describe().starts_with(op->name() + "("));
        CHECK(op->describe().find("skipna=") != std::string::npos);
    }
}

TEST_CASE("an option of the wrong type is named, with what was given") {
    const auto refused = [](const char* name, const Options& options, const char* said) {
        CHECK_THROWS_WITH_AS(make_operator(name, options), doctest::Contains(said),
                             InvalidArgument);
    };
    refused("mean", {{"skipna", std::int64_t{7}}}, "got 7; allowed: true or false");
    refused("quantile", {{"q", true}}, "'q' has the wrong type: got true; allowed: a list");
    refused("histogram", {{"edges", std::vector<double>{5, 4}}}, "got 2 edges: [5, 4]; allowed");
}

TEST_CASE("operators under their other names") {
    CHECK(make_operator("var", {{"ddof", std::int64_t{1}}})->describe() ==
          make_operator("variance", {{"ddof", std::int64_t{1}}})->describe());
    CHECK(make_operator("prod")->describe() == make_operator("product")->describe());
    CHECK(make_operator("median")->describe() ==
          make_operator("quantile", {{"q", 0.5}})->describe());
    CHECK_THROWS_AS(make_operator("median", {{"q", 0.9}}), InvalidArgument);
}

TEST_CASE("what users write is described by what they declare") {
    CHECK(Own("").describe() == "own");
    CHECK(Own("2").describe() == "own, version '2'");
    const auto root = [](double x) { return x; };
    CHECK(make_apply<double, 1>(root, make_operator("max"))->describe() ==
          "max(skipna=true) of a function as float64 of 1 inputs");
    CHECK(make_apply<float, 1>(root, make_operator("max"), "root", "3")->describe() ==
          "max(skipna=true) of root, version '3' as float32 of 1 inputs");
    CHECK(make_mpi_operator(&first, DType::Int32)->describe() == "mpi_function(a function, int32)");
    CHECK(make_mpi_operator(&first, DType::Int32, 0, "first")->describe() ==
          "mpi_function(first, int32)");
}

TEST_CASE("a structure factor is described by its q vectors and its precision") {
    const auto sphere = [](double length, Precision precision) {
        StructureFactorOptions options;
        options.precision = precision;
        return StructureFactor::sphere({length, 4, 4}, 9, {1, 1, 1}, options).describe();
    };
    const std::string usual = sphere(4, Precision::Float64);
    CHECK(usual == sphere(4, Precision::Float64));
    CHECK(usual != sphere(4, Precision::Float32));
    CHECK(usual != sphere(4.0000000000001, Precision::Float64));
    CHECK(usual.size() < 200);
    CHECK(StructureFactor::at({{0, 0, 1}}).describe() ==
          "structure_factor(q=[0, 0, 1], on a lattice=false, precision=float64)");
}

TEST_CASE("ranks compare names, operators and inputs of a reduction") {
    const auto number = [](std::vector<Reduction::Entry> entries) {
        Terms terms;
        add_terms(entries, terms);
        return number_of(terms.of_all());
    };
    const auto usual = number({{"x", make_operator("mean"), {}}});
    CHECK(usual == number({{"x", make_operator("mean"), {0}}}));
    CHECK(usual != number({{"y", make_operator("mean"), {}}}));
    CHECK(usual != number({{"x", make_operator("mean"), {1}}}));
    CHECK(usual != number({{"x", make_operator("max"), {}}}));
}
