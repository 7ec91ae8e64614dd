// SPDX-License-Identifier: Apache-2.0
/// How strongly an atom scatters X-rays or electrons, by the momentum transfer.
#pragma once

#include <cstdint>
#include <vector>

namespace fluvial::compute {

/// f(q) = c + Σ_i a_i exp(-b_i s²) with s = |q| / 4π: four terms as Cromer and Mann fitted them,
/// five as Waasmaier and Kirfel did (doi:10.1107/S0108767394013292), or any number.
struct FormFactor {
    std::vector<double> a;  ///< f is in their unit: electrons
    std::vector<double> b;  ///< in the square of the positions' unit of length
    double c = 0;

    /// The value at |q| = `length`.
    double at(double length) const;
};

/// The form factor of the atoms whose species has this number.
struct SpeciesFormFactor {
    std::int64_t species;
    FormFactor factor;
};

/// Throws InvalidArgument: a species comes twice, numbers of a and b differ, or one is not finite.
void check_form_factors(const std::vector<SpeciesFormFactor>& factors);

}  // namespace fluvial::compute
