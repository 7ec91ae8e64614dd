// SPDX-License-Identifier: Apache-2.0
#include "fluvial/describe/attribute.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace fluvial {
namespace {

template <class T>
void encode_value(ByteWriter& out, const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
        out.put_string(value);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        out.put<std::uint64_t>(value.size());
        for (const auto& s : value) {
            out.put_string(s);
        }
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        out.put(value);
    } else {
        out.put_vector(value);
    }
}

Attribute decode_value(ByteReader& in) {
    const auto alternative = in.get<std::uint8_t>();
    switch (alternative) {
        case 0:
            return in.get<std::uint8_t>() != 0;
        case 1:
            return in.get<std::int64_t>();
        case 2:
            return in.get<double>();
        case 3:
            return in.get_string();
        case 4:
            return in.get_vector<std::int64_t>();
        case 5:
            return in.get_vector<double>();
        case 6: {
            std::vector<std::string> strings;
            for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
                strings.push_back(in.get_string());
            }
            return strings;
        }
        case 7:
            return in.get<Unsigned>();
        case 8:
            return in.get_vector<Unsigned>();
        default:
            throw Error(Problem{"an attribute has an unknown type", text(int{alternative}),
                                "0 to 8", "Check that both jobs use the same version of Fluvial"});
    }
}

bool same(double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
}

}  // namespace

Attribute attribute_of(std::uint64_t value) {
    if (std::in_range<std::int64_t>(value)) {
        return static_cast<std::int64_t>(value);
    }
    return Unsigned(value);
}

Attribute attribute_of(const std::vector<std::uint64_t>& values) {
    if (std::ranges::all_of(values,
                            [](auto value) { return std::in_range<std::int64_t>(value); })) {
        return std::vector<std::int64_t>(values.begin(), values.end());
    }
    std::vector<Unsigned> all;
    all.reserve(values.size());
    for (const std::uint64_t value : values) {
        all.emplace_back(value);
    }
    return all;
}

std::optional<std::vector<double>> floats_of(const Attribute& value) {
    using Floats = std::vector<double>;
    return std::visit(
        []<class T>(const T& held) -> std::optional<Floats> {
            if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                          std::is_same_v<T, Unsigned>) {
                return Floats{static_cast<double>(held)};
            } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                                 std::is_same_v<T, Floats> ||
                                 std::is_same_v<T, std::vector<Unsigned>>) {
                Floats all;
                for (const auto& one : held) {
                    all.push_back(static_cast<double>(one));
                }
                return all;
            } else {
                return std::nullopt;
            }
        },
        value);
}

std::string text_of(const Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    const auto* const words =
        found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return words == nullptr ? std::string() : *words;
}

bool say_the_same(const Attribute& one, const Attribute& other) {
    if (const auto *a = std::get_if<double>(&one), *b = std::get_if<double>(&other);
        a != nullptr && b != nullptr) {
        return same(*a, *b);
    }
    using Numbers = std::vector<double>;
    if (const auto *a = std::get_if<Numbers>(&one), *b = std::get_if<Numbers>(&other);
        a != nullptr && b != nullptr) {
        return std::ranges::equal(*a, *b, same);
    }
    return one == other;
}

bool say_the_same(const Attributes& one, const Attributes& other) {
    return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
        return a.first == b.first && say_the_same(a.second, b.second);
    });
}

void encode(ByteWriter& out, const Attributes& attributes) {
    out.put<std::uint32_t>(static_cast<std::uint32_t>(attributes.size()));
    for (const auto& [name, value] : attributes) {
        out.put_string(name);
        out.put<std::uint8_t>(static_cast<std::uint8_t>(value.index()));
        std::visit([&](const auto& v) { encode_value(out, v); }, value);
    }
}

Attributes decode_attributes(ByteReader& in) {
    Attributes attributes;
    for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        std::string name = in.get_string();
        attributes.insert_or_assign(std::move(name), decode_value(in));
    }
    return attributes;
}

}  // namespace fluvial
