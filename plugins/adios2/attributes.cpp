// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"

#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <adios2/common/ADIOSMacros.h>

#include "fluvial/base/error.hpp"

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
    if constexpr (is_complex_number<T>) {
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

struct Definition {
    adios2::IO& io;
    const std::string& name;

    void operator()(bool value) const { define_one<std::uint8_t>(io, name, value ? 1 : 0); }
    void operator()(const Unsigned& value) const {
        define_one(io, name, static_cast<std::uint64_t>(value));
    }
    void operator()(const std::vector<Unsigned>& values) const {
        std::vector<std::uint64_t> plain;
        for (const Unsigned& value : values) {
            plain.push_back(static_cast<std::uint64_t>(value));
        }
        define_all(io, name, plain);
    }
    template <class T>
    void operator()(const std::vector<T>& values) const {
        define_all(io, name, values);
    }
    template <class T>
    void operator()(const T& value) const {
        define_one(io, name, value);
    }
};

}  // namespace

Attributes attributes_of(adios2::IO& io) {
    Attributes all;
    for (const auto& [name, properties] : io.AvailableAttributes()) {
        all.emplace(name, attribute_in(io, name, properties.at("Type")));
    }
    return all;
}

void define(adios2::IO& io, const std::string& name, const Attribute& value) {
    io.RemoveAttribute(name);  // which may have had another type
    std::visit(Definition{io, name}, value);
}

}  // namespace fluvial::adios2_engine
