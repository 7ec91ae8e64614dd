// SPDX-License-Identifier: Apache-2.0
#include "fluvial/compute/operators/form_factor.hpp"

#include <cmath>
#include <numbers>
#include <set>

#include "fluvial/base/error.hpp"

namespace fluvial::compute {

double FormFactor::at(double length) const {
    const double s = length / (4 * std::numbers::pi);
    double f = c;
    for (std::size_t i = 0; i < a.size(); ++i) {
        f += a[i] * std::exp(-b[i] * s * s);
    }
    return f;
}

void check_form_factors(const std::vector<SpeciesFormFactor>& factors) {
    std::set<std::int64_t> seen;
    for (const auto& [species, factor] : factors) {
        if (!seen.insert(species).second) {
            throw InvalidArgument(Problem{"structure factor: a species has two form factors",
                                          text(species), "one for each species",
                                          "Leave one of them out"});
        }
        if (factor.a.size() != factor.b.size()) {
            throw InvalidArgument(Problem{text("structure factor: the form factor of species ",
                                               species, " has not as many b as a"),
                                          text(factor.a.size(), " a and ", factor.b.size(), " b"),
                                          "as many of one as of the other",
                                          "f(q) is c + Σ a exp(-b (|q| / 4π)²)"});
        }
        double sum = factor.c;
        for (std::size_t i = 0; i < factor.a.size(); ++i) {
            sum += factor.a[i] + factor.b[i];
        }
        if (!std::isfinite(sum)) {
            throw InvalidArgument(Problem{
                text("structure factor: the form factor of species ", species, " is not finite"),
                text(sum), "finite a, b and c", "Check the table for NaN"});
        }
    }
}

}  // namespace fluvial::compute
