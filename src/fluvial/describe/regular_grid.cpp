// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/regular_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace fluvial {
namespace {

using Numbers = std::vector<double>;

/// As many finite numbers as there are axes, of the first attributes that have them.
std::optional<Numbers> numbers_of(const std::string& name, int count,
                                  const std::vector<Attributes>& said) {
    for (const Attributes& attributes : said) {
        const auto found = attributes.find(name);
        auto numbers = found == attributes.end() ? std::nullopt : floats_of(found->second);
        if (numbers && static_cast<int>(numbers->size()) == count &&
            std::all_of(numbers->begin(), numbers->end(),
                        [](double number) { return std::isfinite(number); })) {
            return numbers;
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<double>> positions_along(int axis, const Coordinates& shape,
                                                   const std::vector<Attributes>& said) {
    const int axes = shape.size();
    const auto spacing = numbers_of("gridSpacing", axes, said);
    if (!spacing) {
        return std::nullopt;
    }
    const Numbers zeros(static_cast<std::size_t>(axes), 0.0);
    const Numbers begin = numbers_of("gridGlobalOffset", axes, said).value_or(zeros);
    const Numbers within = numbers_of("position", axes, said).value_or(zeros);
    const bool of_fortran = std::any_of(said.begin(), said.end(), [](const Attributes& one) {
        return text_of(one, "dataOrder") == "F";
    });
    const auto at = static_cast<std::size_t>(of_fortran ? axes - 1 - axis : axis);
    std::vector<double> positions;
    positions.reserve(static_cast<std::size_t>(shape[axis]));
    for (Index i = 0; i < shape[axis]; ++i) {
        positions.push_back(begin[at] + (static_cast<double>(i) + within[at]) * (*spacing)[at]);
    }
    return positions;
}

}  // namespace fluvial
