// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"

#include <complex>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <vector>

#include <adios2/common/ADIOSMacros.h>

#include "fluvial/base/error.hpp"
#include "marks.hpp"

namespace fluvial::adios2_engine {
namespace {

template <class T>
constexpr bool is_complex_number =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// What attributes of a series keep of it.
template <class T>
auto kept(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<std::int64_t>(value);
    } else {
        return static_cast<std::uint64_t>(value);
    }
}

template <class Value>
Attribute attribute_from(const std::vector<Value>& values, bool single) {
    if constexpr (std::is_same_v<Value, std::uint64_t>) {
        return single ? attribute_of(values.front()) : attribute_of(values);
    } else {
        return single ? Attribute(values.front()) : Attribute(values);
    }
}

template <class T>
Attribute attribute_in(adios2::IO& io, const std::string& name) {
    auto attribute = io.InquireAttribute<T>(name);
    if constexpr (std::is_same_v<T, long double>) {
        throw InvalidArgument(Problem{text("the attribute '", name, "' cannot be in a series"),
                                      "long double", "texts, real numbers up to double",
                                      "Define it as double"});
    } else if constexpr (is_complex_number<T>) {
        throw InvalidArgument(Problem{text("the attribute '", name, "' cannot be in a series"),
                                      "complex numbers", "texts, real numbers",
                                      "Say the real and the imaginary parts"});
    } else {
        using Value = decltype(kept(T()));
        std::vector<Value> values;
        for (const T& value : attribute.Data()) {
            values.push_back(kept(value));
        }
        return attribute_from(values, attribute.IsValue() && values.size() == 1);
    }
}

Attribute attribute_in(adios2::IO& io, const std::string& name, const std::string& type) {
#define FLUVIAL_ATTRIBUTE(T)              \
    if (type == adios2::GetType<T>()) {   \
        return attribute_in<T>(io, name); \
    }
    ADIOS2_FOREACH_ATTRIBUTE_STDTYPE_1ARG(FLUVIAL_ATTRIBUTE)
#undef FLUVIAL_ATTRIBUTE
    throw InvalidArgument(Problem{text("the attribute '", name, "' cannot be in a series"),
                                  "of type " + type, "texts, real numbers", ""});
}

template <class T>
void define_one(adios2::IO& io, const std::string& name, const T& value) {
    io.DefineAttribute<T>(name, value, "", "/", true);
}

template <class T>
void define_all(adios2::IO& io, const std::string& name, const std::vector<T>& values) {
    io.DefineAttribute<T>(name, values.data(), values.size(), "", "/", true);
}

std::uint64_t plain(const Unsigned& value) {
    return static_cast<std::uint64_t>(value);
}
template <class T>
T plain(const T& value) {
    return value;
}

/// What a series says becomes an attribute of this type, but for texts; void: of its own.
template <class Wanted>
struct Definition {
    adios2::IO& io;
    const std::string& name;

    template <class T>
    auto as_wanted(const T& value) const {
        if constexpr (std::is_void_v<Wanted> || std::is_same_v<T, std::string>) {
            return value;
        } else {
            return static_cast<Wanted>(value);
        }
    }
    void operator()(bool value) const { (*this)(static_cast<std::uint8_t>(value ? 1 : 0)); }
    template <class T>
    void operator()(const std::vector<T>& values) const {
        std::vector<decltype(as_wanted(plain(T())))> all;
        for (const T& value : values) {
            all.push_back(as_wanted(plain(value)));
        }
        define_all(io, name, all);
    }
    template <class T>
    void operator()(const T& value) const {
        define_one(io, name, as_wanted(plain(value)));
    }
};

}  // namespace

IoAttributes attributes_of(adios2::IO& io) {
    IoAttributes all;
    for (const auto& [name, properties] : io.AvailableAttributes()) {
        const std::string& type = properties.at("Type");
        all.values.emplace(name, attribute_in(io, name, type));
        if (type != adios2::GetType<std::int64_t>() && type != adios2::GetType<double>() &&
            type != adios2::GetType<std::string>()) {
            all.types.emplace(name, type);
        }
    }
    return all;
}

void mark_types(Attributes& attributes, const AttributeTypes& types, const std::string& prefix) {
    std::string lines;
    for (const auto& [name, value] : attributes) {
        if (const auto type = types.find(prefix + name); type != types.end()) {
            lines += type->second + "\t" + name + "\n";
        }
    }
    if (!lines.empty()) {
        attributes.insert_or_assign(types_mark, lines);
    }
}

AttributeTypes take_types(Attributes& attributes) {
    AttributeTypes types;
    std::istringstream lines(text_of(attributes, types_mark));
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t end = line.find('\t');
        if (end != std::string::npos) {
            types.emplace(line.substr(end + 1), line.substr(0, end));
        }
    }
    attributes.erase(types_mark);
    return types;
}

void define(adios2::IO& io, const std::string& name, const Attribute& value,
            const std::string& type) {
    io.RemoveAttribute(name);  // which may have had another type
#define FLUVIAL_DEFINITION(T)                              \
    if (type == adios2::GetType<T>()) {                    \
        return std::visit(Definition<T>{io, name}, value); \
    }
    ADIOS2_FOREACH_ATTRIBUTE_PRIMITIVE_STDTYPE_1ARG(FLUVIAL_DEFINITION)
#undef FLUVIAL_DEFINITION
    std::visit(Definition<void>{io, name}, value);
}

}  // namespace fluvial::adios2_engine
