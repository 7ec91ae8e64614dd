// SPDX-License-Identifier: Apache-2.0
#include "fluvial/distribute/conformance.hpp"

#include "fluvial/base/seed_fixture.hpp"
#include "fluvial/distribute/registry.hpp"

using namespace fluvial;
using namespace fluvial::distribute;

TEST_CASE("every strategy of the registry conforms") {
    const std::uint32_t seed = test_seed(20211);
    for (const Registration& entry : registrations()) {
        REQUIRE(!entry.examples.empty());
        for (const std::string_view example : entry.examples) {
            const StrategyPtr strategy = make_strategy(example);
            Conformance(*strategy, seed).run({entry.complete, entry.ndim_min});
        }
    }
}

TEST_CASE("strategies alone conform in parts of the readers, too") {
    const std::uint32_t seed = test_seed(99);
    for (const Registration& entry : registrations()) {
        if (entry.complete && entry.ndim_min == 0) {
            for (const std::string layer : {"host", "socket", "numa"}) {
                const auto strategy = make_strategy(
                    text("by-layer(", layer, ", ", entry.examples.front(), ", fallback=discard)"));
                Conformance(*strategy, seed).run({false, 0, 30});
            }
        }
    }
}

namespace {

/// Assigns every second chunk, and that twice.
class Careless final : public Strategy {
  public:
    explicit Careless(bool twice) : twice_(twice) {}
    std::string describe() const override { return "careless"; }
    Distribution assign(const Request& request) const override {
        Distribution out;
        for (std::size_t i = 0; i < request.chunks.size(); i += twice_ ? 1 : 2) {
            give(out, 0, request.chunks[i].region, i);
        }
        if (twice_) {
            give(out, 0, request.chunks.back().region, request.chunks.size() - 1);
        }
        return out;
    }

  private:
    bool twice_;
};

}  // namespace

TEST_CASE("a strategy that forgets elements, or assigns them twice, is found out") {
    const Request request{{{{{0}, {4}}, 0, {}}, {{{4}, {4}}, 1, {}}}, std::vector<Place>(2), 1};
    CHECK_THROWS_WITH_AS(assign(request, Careless(false)),
                         "the strategy careless did not return every element: got 4 of 8 elements; "
                         "allowed: each element of each chunk once. Correct the strategy",
                         Error);
    CHECK_THROWS_WITH_AS(assign(request, Careless(true)),
                         doctest::Contains("assigned elements twice"), Error);
}
