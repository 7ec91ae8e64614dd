// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/stored_alike.hpp"

#include <cmath>
#include <functional>
#include <span>

#include "fluvial/base/error.hpp"
#include "fluvial/base/terms.hpp"

namespace fluvial::scan {
namespace {

const Attribute* find(const store::Dataset& dataset, const char* name) {
    const auto found = dataset.attributes().find(name);
    return found == dataset.attributes().end() ? nullptr : &found->second;
}

bool is_nan(const Attribute* said) {
    const auto* const number = said == nullptr ? nullptr : std::get_if<double>(said);
    return said == nullptr || (number != nullptr && std::isnan(*number));
}

bool alike(const Attribute* one, const Attribute* other) {
    if (one == nullptr || other == nullptr) {
        return is_nan(one) && is_nan(other);
    }
    const auto numbers = floats_of(*one), others = floats_of(*other);
    return say_the_same(*one, *other) ||
           (one->index() != other->index() && numbers && numbers == others);
}

std::string words_of(const Attribute* said) {
    if (said == nullptr) {
        return "none";
    }
    if (const auto* const words = std::get_if<std::string>(said)) {
        return "'" + *words + "'";
    }
    const auto numbers = floats_of(*said);
    return numbers && numbers->size() == 1
               ? exact(numbers->front())
               : exact(std::span<const double>(numbers.value_or(std::vector<double>())));
}

/// Of two files that both name units.
bool count_otherwise(const Attribute* said, const Attribute* expected) {
    return said != nullptr && expected != nullptr && !say_the_same(*said, *expected);
}

}  // namespace

void check_stored_alike(const store::Dataset& dataset, const store::Dataset& first) {
    const auto check = [&](const char* name, const auto& differs) {
        const Attribute *said = find(dataset, name), *expected = find(first, name);
        if (differs(said, expected)) {
            throw InvalidArgument(
                Problem{text("the files store '", dataset.name(), "' differently"),
                        text(name, " = ", words_of(said), " in '", dataset.bytes().path(), "'"),
                        text(words_of(expected), " as in '", first.bytes().path(), "'"),
                        "Reduce each file by itself and merge the results, or raw()"});
        }
    };
    for (const char* const name : {"scale_factor", "add_offset", "_FillValue", "missing_value",
                                   "valid_range", "valid_min", "valid_max", "_Unsigned"}) {
        check(name, std::not_fn(alike));
    }
    check("units", count_otherwise);
}

}  // namespace fluvial::scan
