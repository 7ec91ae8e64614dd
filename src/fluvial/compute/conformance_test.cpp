// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/conformance.hpp"

#include <set>

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/compute/registry.hpp"

using namespace fluvial;
using namespace fluvial::compute;

namespace {

std::uint32_t seed() {
    return test_seed(2015);
}

/// Every operator whose result is the same to the bit for floating-point data too.
const std::set<std::string> exact = {"min",   "max",       "argmin",      "argmax",  "count",
                                     "top_k", "histogram", "histogram2d", "quantile"};

bool accepts(const Operator& op, DType dtype) {
    try {
        op.identity(make_domain(whole({2}), {},
                                std::vector<DType>(static_cast<std::size_t>(op.inputs()), dtype)));
        return true;
    } catch (const InvalidArgument& error) {
        CHECK(std::string(error.what()).find(name_of(dtype)) !=
              std::string::npos);  // says what it got
        return false;
    }
}

template <class Run>
void conform(const Registration& entry, const Options& options, Run run) {
    const OperatorPtr op = entry.make(options);
    CAPTURE(seed());
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        if (!accepts(*op, dtype)) {
            continue;
        }
        ConformanceOptions trial;
        trial.dtypes = {dtype};
        trial.weights = entry.name != "product";
        // Integers: bitwise, unless the operator works in floating point by definition.
        const bool floating =
            entry.name == "variance" || entry.name == "std" || entry.name == "norm";
        trial.tolerance =
            exact.count(std::string(entry.name)) || (is_integer(dtype) && !floating) ? 0 : 1e-12;
        Conformance conformance(*op, seed() + static_cast<std::uint32_t>(number));
        (conformance.*run)(trial);
    }
}

}  // namespace

TEST_CASE("any split and any merge tree give the same result") {
    for (const Registration& entry : registrations()) {
        SUBCASE(std::string(entry.name).c_str()) {
            conform(entry, entry.example, &Conformance::run);
        }
    }
}

TEST_CASE("any split and any merge tree give the same result where NaN propagates") {
    for (const Registration& entry : registrations()) {
        SUBCASE(std::string(entry.name).c_str()) {
            Options options = entry.example;
            options["skipna"] = false;
            conform(entry, options, &Conformance::run);
        }
    }
}

TEST_CASE("swapped bytes give the same bits as native ones") {
    for (const Registration& entry : registrations()) {
        SUBCASE(std::string(entry.name).c_str()) {
            conform(entry, entry.example, &Conformance::run_swapped);
            Options options = entry.example;
            options["skipna"] = false;
            conform(entry, options, &Conformance::run_swapped);
        }
    }
}
