// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/answers.hpp"

#include <algorithm>
#include <cstring>

#include "fluvial/base/error.hpp"
#include "fluvial/c/boundary.hpp"

namespace fluvial::c {
namespace {

/// Of one that is not one text.
std::string kind_of(const Attribute& attribute) {
    if (std::holds_alternative<std::vector<std::string>>(attribute)) {
        return "several texts";
    }
    return floats_of(attribute) ? "numbers" : "values that C has no type for";
}

}  // namespace

void copy_text(const std::string& from, std::size_t size, char* to, const char* what) {
    if (from.size() + 1 > size) {
        throw InvalidArgument(Problem{text(what, " does not fit"), text(size, " characters"),
                                      text(from.size() + 1, " or more"), ""});
    }
    std::memcpy(to, from.c_str(), from.size() + 1);
}

const Attribute& attribute_in(const Attributes& attributes, const char* name) {
    check_given(name, "name");
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        std::string names;
        for (const auto& [other, value] : attributes) {
            names += (names.empty() ? "" : ", ") + other;
        }
        throw InvalidArgument(
            Problem{"no attribute of this name", text("'", name, "'"), names, ""});
    }
    return found->second;
}

void copy_text_attribute(const Attribute& attribute, const char* name, std::size_t size,
                         char* value, const char* for_numbers) {
    check_given(value, "value");
    const auto* const string = std::get_if<std::string>(&attribute);
    if (string == nullptr) {
        const bool numbers = floats_of(attribute).has_value();
        throw InvalidArgument(Problem{text("attribute '", name, "' is not text"),
                                      kind_of(attribute), "one text",
                                      numbers ? text("Use ", for_numbers) : ""});
    }
    copy_text(*string, size, value, "the attribute");
}

void copy_number_attribute(const Attribute& attribute, const char* name, std::size_t count,
                           double* values, const char* for_text) {
    const auto numbers = floats_of(attribute);
    if (!numbers) {
        const bool one_text = std::holds_alternative<std::string>(attribute);
        throw InvalidArgument(Problem{text("attribute '", name, "' is not numeric"),
                                      one_text ? "text" : kind_of(attribute), "numbers",
                                      one_text ? text("Use ", for_text) : ""});
    }
    check_given(values, "values");
    if (numbers->size() != count) {
        throw InvalidArgument(Problem{text("attribute '", name, "' has another length"),
                                      text("room for ", count), text(numbers->size()), ""});
    }
    std::copy(numbers->begin(), numbers->end(), values);
}

}  // namespace fluvial::c
