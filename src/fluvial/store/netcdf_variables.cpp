// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_variables.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "fluvial/base/error.hpp"

namespace fluvial::store {
namespace {

constexpr const char* other_format = "Call it something else, or write HDF5, which has paths";

/// Whether a number is an element of the type, a fraction also when it is rounded.
template <class Held, class Given>
bool holds(Given value) {
    if constexpr (std::is_floating_point_v<Held>) {
        return std::isfinite(static_cast<Held>(value)) == std::isfinite(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<Given>) {
        return std::in_range<Held>(value);
    } else {
        constexpr double beyond = static_cast<double>(std::numeric_limits<Held>::max() / 2 + 1) * 2;
        return value >= static_cast<double>(std::numeric_limits<Held>::min()) && value < beyond &&
               value == std::trunc(value);
    }
}

std::vector<std::uint64_t> integers_of(const std::vector<Unsigned>& values) {
    std::vector<std::uint64_t> integers;
    for (const Unsigned value : values) {
        integers.push_back(static_cast<std::uint64_t>(value));
    }
    return integers;
}

template <class T>
void set(NetcdfAttribute& attribute, DType dtype, const std::vector<T>& values) {
    attribute.dtype = dtype;
    const auto bytes = std::as_bytes(std::span(values));
    attribute.numbers.assign(bytes.begin(), bytes.end());
}

/// False where the dtype cannot hold the values.
template <class T>
bool set_as(NetcdfAttribute& attribute, DType dtype, const std::vector<T>& values) {
    if (!is_integer(dtype) && !is_floating(dtype)) {
        return false;
    }
    return dispatch(dtype, [&]<class Held>() {
        if constexpr (std::is_arithmetic_v<Held> && sizeof(Held) <= 8) {
            std::vector<Held> held;
            for (const T value : values) {
                if (!holds<Held>(value)) {
                    return false;
                }
                held.push_back(static_cast<Held>(value));
            }
            set(attribute, dtype, held);
            return true;
        }
        return false;
    });
}

/// Integers of either kind, one or several.
template <class Use>
bool with_integers(const Attribute& value, const Use& use) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return use(std::vector{*whole}, DType::Int64);
    }
    if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value)) {
        return use(*wholes, DType::Int64);
    }
    if (const auto* large = std::get_if<Unsigned>(&value)) {
        return use(integers_of({*large}), DType::UInt64);
    }
    const auto* larges = std::get_if<std::vector<Unsigned>>(&value);
    return larges != nullptr && use(integers_of(*larges), DType::UInt64);
}

template <class Use>
bool with_reals(const Attribute& value, const Use& use) {
    if (const auto* real = std::get_if<double>(&value)) {
        return use(std::vector{*real}, DType::Float64);
    }
    const auto* reals = std::get_if<std::vector<double>>(&value);
    return reals != nullptr && use(*reals, DType::Float64);
}

/// An attribute whose values are elements of a dataset, where its dtype can hold them.
bool set_elements(NetcdfAttribute& attribute, const Attribute& value, DType dtype) {
    const std::string& name = attribute.name;
    const bool nothing = name == "_FillValue" || name == "missing_value";
    const bool bounds = name == "valid_min" || name == "valid_max" || name == "valid_range";
    if (!nothing && !bounds) {
        return false;
    }
    const auto use = [&](const auto& values, DType) { return set_as(attribute, dtype, values); };
    return ((nothing || is_integer(dtype)) && with_integers(value, use)) ||
           ((nothing || is_floating(dtype)) && with_reals(value, use));
}

/// False: netCDF has no such attribute.
bool set_value(NetcdfAttribute& attribute, const Attribute& value) {
    if (const auto* word = std::get_if<std::string>(&value)) {
        attribute.text = *word;
        return true;
    }
    if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
        if (words->size() == 1) {
            attribute.text = words->front();
        }
        return words->size() == 1;
    }
    if (const auto* yes = std::get_if<bool>(&value)) {
        set(attribute, DType::Int8, std::vector{static_cast<std::int8_t>(*yes ? 1 : 0)});
        return true;
    }
    const auto use = [&](const auto& values, DType dtype) {
        set(attribute, dtype, values);
        return true;
    };
    return with_integers(value, use) || with_reals(value, use);
}

}  // namespace

std::vector<NetcdfAttribute> netcdf_attributes(const Attributes& attributes,
                                               const std::string& owner,
                                               std::optional<DType> dtype) {
    std::vector<NetcdfAttribute> found;
    for (const auto& [name, value] : attributes) {
        check_netcdf_name(name, "an attribute of " + owner);
        NetcdfAttribute& attribute = found.emplace_back();
        attribute.name = name;
        if (dtype && set_elements(attribute, value, *dtype)) {
            continue;
        }
        if (dtype && name == "_FillValue" && !attributes.contains("_Unsigned")) {
            throw InvalidArgument(
                Problem{"_FillValue of " + owner + " is none of its elements",
                        "a value that " + std::string(name_of(*dtype)) + " cannot hold",
                        "what the dataset's dtype can hold",
                        "Choose another value, or leave the attribute out"});
        }
        if (!set_value(attribute, value)) {
            throw InvalidArgument(
                Problem{"attribute '" + name + "' of " + owner + " cannot be one of a netCDF file",
                        "several texts", "text, a number, or numbers", "Join texts to one"});
        }
    }
    return found;
}

void check_netcdf_name(const std::string& name, const std::string& what) {
    const auto printable = [](char letter) {
        const auto code = static_cast<unsigned char>(letter);
        return code >= 0x20 && code != 0x7f && letter != '/';
    };
    const bool good = !name.empty() && std::all_of(name.begin(), name.end(), printable) &&
                      name.back() != ' ' &&
                      (std::isalnum(static_cast<unsigned char>(name.front())) != 0 ||
                       name.front() == '_' || static_cast<unsigned char>(name.front()) > 127);
    if (!good) {
        throw InvalidArgument(
            Problem{what + " of a netCDF file cannot be called that", "'" + name + "'",
                    "letters, digits and signs without '/', the first a letter, a digit or '_'",
                    other_format});
    }
}

void check_netcdf_type(DType dtype, const std::string& name) {
    if (!is_integer(dtype) && dtype != DType::Float32 && dtype != DType::Float64) {
        throw InvalidArgument(Problem{"'" + name + "' has a dtype that files of netCDF do not have",
                                      std::string(name_of(dtype)),
                                      "integers of 8 to 64 bits, float32 and float64",
                                      "Convert it, or write HDF5"});
    }
}

void check_and_sort(RecordLayout& layout) {
    for (const RecordVariable& variable : layout.variables) {
        check_netcdf_type(variable.dtype, variable.name);
        if (volume_of(variable.shape) == 0) {
            throw InvalidArgument(Problem{
                "'" + variable.name + "' has no elements", text("shape ", variable.shape),
                "axes of at least one element, as netCDF has them", "Leave it out, or write HDF5"});
        }
    }
    std::stable_partition(layout.variables.begin(), layout.variables.end(),
                          [](const RecordVariable& variable) { return !variable.by_record; });
    if (layout.variables.empty() || !layout.variables.back().by_record) {
        throw InvalidArgument(Problem{"the first step has nothing that changes with time",
                                      "coordinates alone",
                                      "a dataset that is no coordinate, or a time", ""});
    }
}

std::uint64_t bytes_of(const RecordVariable& variable) {
    return static_cast<std::uint64_t>(volume_of(variable.shape)) * size_of(variable.dtype);
}

}  // namespace fluvial::store
