// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/hdf5/attribute_limits.hpp"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

// HDF5 keeps an attribute in a message of at most 65,535 bytes, with its name and type.
constexpr std::size_t attribute_bytes_max = 64'000;

std::size_t value_bytes(const std::string& value) {
    return value.size();
}
std::size_t value_bytes(const std::vector<std::string>& values) {
    std::size_t longest = 0;
    for (const std::string& value : values) {
        longest = std::max(longest, value.size());
    }
    return longest * values.size();
}
template <typename T>
std::size_t value_bytes(const std::vector<T>& values) {
    return values.size() * sizeof(T);
}
template <typename T>
std::size_t value_bytes(const T& value) {
    return sizeof value;
}

bool has_nul(const std::string& value) {
    return value.find('\0') != std::string::npos;
}
bool has_nul(const std::vector<std::string>& values) {
    return std::any_of(values.begin(), values.end(),
                       [](const std::string& value) { return has_nul(value); });
}
template <typename T>
bool has_nul(const T& /*value*/) {
    return false;
}

}  // namespace

void check_attributes(const Attributes& attributes, const std::string& object) {
    for (const auto& [name, value] : attributes) {
        if (name.empty()) {
            throw InvalidArgument(Problem{"an attribute of " + object + " has no name", "''",
                                          "one character or more", "Call it something"});
        }
        const std::string what = "attribute '" + name + "' of " + object;
        if (has_nul(name) || std::visit([](const auto& held) { return has_nul(held); }, value)) {
            throw InvalidArgument(Problem{"HDF5 would end a text at a NUL", "one in " + what,
                                          "any other characters", "Leave it out"});
        }
        const std::size_t bytes =
            std::visit([](const auto& held) { return value_bytes(held); }, value);
        if (bytes > attribute_bytes_max) {
            throw InvalidArgument(Problem{what + " is too large for HDF5", text(bytes, " bytes"),
                                          text("up to ", attribute_bytes_max),
                                          "Put it as a dataset"});
        }
    }
}

void check_attributes(const OpenPmdLayout& layout) {
    for (const auto& [path, attributes] : layout.groups) {
        if (has_nul(path)) {
            throw InvalidArgument(
                Problem{"the name of a group has a NUL, at which HDF5 would end it",
                        "'" + path + "'", "any other characters", "Leave it out"});
        }
        check_attributes(attributes, path.empty() ? "the step" : "'" + path + "'");
    }
    for (const auto* datasets : {&layout.datasets, &layout.constants}) {
        for (const DatasetDescription& dataset : *datasets) {
            check_attributes(dataset.attributes, "'" + dataset.name + "'");
        }
    }
}

}  // namespace fluvial::store
