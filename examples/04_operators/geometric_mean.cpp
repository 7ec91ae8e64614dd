// SPDX-License-Identifier: Apache-2.0
// A user-defined operator in C++: the geometric mean, exp(Σ w ln x / Σ w). It runs on float16 to
// float64 and all integers, with mask, weights and kept axes, in one pass beside the built-in ones.
#include <cmath>
#include <iostream>

#include "fluvial/compute.hpp"

using namespace fluvial;
using namespace fluvial::compute;

// The state: sums of logarithms, and how many (or how much weight), one of each a kept position.
class GeometricMeanPartial final : public StatePartial<GeometricMeanPartial> {
  public:
    GeometricMeanPartial(const Domain& domain, const RunNeeds& needs)
        : StatePartial("geometric_mean", domain, needs), counts_(cells()) {
        logs_.reserve(cells());
    }

    void absorb_run(const Run& run) override {
        each<double>(run, [&](Index cell, double x, double weight, Index) {
            logs_.add(at(cell), weight * std::log(x));
        });
        counts_.absorb(run);
    }
    void merge(const Partial& other) override {
        logs_.merge(same(other).logs_);
        counts_.merge(same(other).counts_);
    }
    // What travels between ranks.
    template <class Visit>
    void fields(Visit&& visit) {
        logs_.fields(visit);
        counts_.fields(visit);
    }
    Result finish() const override {
        Array out = result(DType::Float64);
        for (Index cell = 0; cell < cells(); ++cell) {
            out.as<double>()[cell] = std::exp(logs_.value(at(cell)) / counts_.total(at(cell)));
        }
        return {{"value", std::move(out)}};
    }

  private:
    Totals logs_;
    Counts counts_;
};

class GeometricMean final : public Operator {
  public:
    std::string name() const override { return "geometric_mean"; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        require_dtype(*this, domain, real_dtype, real_dtypes);
        return std::make_unique<GeometricMeanPartial>(domain, RunNeeds{DType::Float64});
    }
};

int main() {
    const float values[] = {1, 2, 4, 8, 16, 32, 64, 128};
    const Domain domain = make_domain(whole({8}), {}, {DType::Float32});
    const std::vector<Reduction::Entry> entries = {
        {"geometric", std::make_shared<GeometricMean>(), {}},
        {"arithmetic", make_operator("mean"), {}},
    };

    // Two chunks, as two ranks would have them; what the second knows travels as bytes.
    Reduction here(entries, domain), there(entries, domain);
    const ArrayView first(values, DType::Float32, {3}), second(values + 3, DType::Float32, {5});
    here.absorb({std::span(&first, 1), {{0}, {3}}});
    there.absorb({std::span(&second, 1), {{3}, {5}}});
    here.merge_encoded(there.encode());

    const auto found = here.finish();
    std::cout << "geometric " << *found.at("geometric").at("value").as<double>() << ", arithmetic "
              << *found.at("arithmetic").at("value").as<double>() << '\n';
}
