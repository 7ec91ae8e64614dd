// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/engines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace fluvial::store {

SaidEngine said_engine(const std::string& engine) {
    if (!engine.empty()) {
        return {engine, "engine"};
    }
    const char* const variable = std::getenv("FLUVIAL_ENGINE");
    return {variable == nullptr ? "" : variable, "FLUVIAL_ENGINE"};
}

bool names_address(const std::string& name) {
    return name.starts_with("fluvial://");
}

bool has_suffix(const std::string& name, std::string_view suffix) {
    const auto same = [](char letter, char small) {
        return letter == small || (letter >= 'A' && letter <= 'Z' && letter - 'A' + 'a' == small);
    };
    return name.size() >= suffix.size() &&
           std::equal(name.end() - static_cast<std::ptrdiff_t>(suffix.size()), name.end(),
                      suffix.begin(), same);
}

bool names_files(const std::string& name) {
    constexpr std::array<std::string_view, 14> suffixes = {
        ".hdf", ".netcdf", ".nc",  ".nc3",  ".nc4", ".nc5", ".cdf",
        ".h5",  ".hdf5",   ".he5", ".zarr", ".bp",  ".bp4", ".bp5"};
    if (names_address(name)) {
        return false;
    }
    return name.find('%') != std::string::npos || name.find('/') != std::string::npos ||
           std::any_of(suffixes.begin(), suffixes.end(),
                       [&](std::string_view suffix) { return has_suffix(name, suffix); });
}

}  // namespace fluvial::store
