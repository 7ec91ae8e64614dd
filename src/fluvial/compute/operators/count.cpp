// SPDX-License-Identifier: Apache-2.0
/// count: elements that the mask includes, without NaN when skipna; int64, exact. Weights do not
/// matter.
#include "fluvial/compute/registry.hpp"
#include "fluvial/compute/sums.hpp"

namespace fluvial::compute {
namespace {

class CountPartial final : public StatePartial<CountPartial> {
  public:
    CountPartial(const Domain& domain, const RunNeeds& needs)
        : StatePartial("count", domain, needs), counts_(cells()) {}

    bool takes_columns() const override { return true; }
    bool takes_summary_alone() const override { return true; }
    void absorb_run(const Run& run) override { counts_.count(run); }
    void merge(const Partial& other) override { counts_.merge(same(other).counts_); }
    template <class Visit>
    void fields(Visit&& visit) {
        counts_.fields(visit);
    }
    Result finish() const override {
        Array out = result(DType::Int64);
        for (Index cell = 0; cell < cells(); ++cell) {
            out.as<Index>()[cell] = counts_.elements(at(cell));
        }
        return {{"value", std::move(out)}};
    }

  private:
    Counts counts_;
};

class Count final : public Operator {
  public:
    explicit Count(bool skipna) : skipna_(skipna) {}
    std::string name() const override { return "count"; }
    bool any_order() const override { return true; }
    std::unique_ptr<Partial> identity(const Domain& domain) const override {
        check_inputs(*this, domain);
        return std::make_unique<CountPartial>(
            domain, RunNeeds{kernel_dtype(domain.dtypes[0]), 1, skipna_, false});
    }

  private:
    bool skipna_;
};

OperatorPtr make_count(const Options& options) {
    OptionReader reader(options, "count");
    const bool skipna = reader.boolean("skipna", true);
    reader.done();
    return std::make_shared<Count>(skipna);
}

}  // namespace

Registration register_count() {
    return {"count", "number of elements", make_count, {}};
}

}  // namespace fluvial::compute
