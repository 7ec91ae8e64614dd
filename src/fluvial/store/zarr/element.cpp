// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/element.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace fluvial::store {
namespace {

[[noreturn]] void refuse_fill(const Json& json, DType dtype) {
    throw InvalidArgument(Problem{"the fill value cannot be an element", text_of(json),
                                  std::string(name_of(dtype)), ""});
}

/// "NaN", "Infinity", "-Infinity" or the bits as "0x7fc00000"; none for other texts.
template <class T>
std::optional<T> real_of(const std::string& text) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text == "NaN") {
        return static_cast<T>(static_cast<float>(std::numeric_limits<double>::quiet_NaN()));
    }
    if (text == "Infinity" || text == "-Infinity") {
        return static_cast<T>(static_cast<float>(text[0] == '-' ? -infinity : infinity));
    }
    using Bits =
        std::conditional_t<sizeof(T) == 2, std::uint16_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    Bits bits = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with("0x") || text.size() != 2 + 2 * sizeof(T) ||
        std::from_chars(text.data() + 2, end, bits, 16).ptr != end) {
        return std::nullopt;
    }
    return std::bit_cast<T>(bits);
}

template <class T>
std::optional<T> integer_of(const Json& json) {
    if (const auto* const integer = std::get_if<std::int64_t>(&json.value())) {
        return std::in_range<T>(*integer) ? std::optional(static_cast<T>(*integer)) : std::nullopt;
    }
    if (const auto* const large = std::get_if<std::uint64_t>(&json.value())) {
        return std::in_range<T>(*large) ? std::optional(static_cast<T>(*large)) : std::nullopt;
    }
    if (const auto* const truth = std::get_if<bool>(&json.value())) {
        return static_cast<T>(*truth);
    }
    // 2^digits is exact in float64 where max() is not.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const auto* const real = std::get_if<double>(&json.value());
    const bool fits = real != nullptr && *real < end && *real == std::floor(*real) &&
                      *real >= (std::is_signed_v<T> ? -end : 0);
    return fits ? std::optional(static_cast<T>(*real)) : std::nullopt;
}

template <class T>
T element_of(const Json& json, DType dtype) {
    if constexpr (std::is_integral_v<T>) {
        const auto found = integer_of<T>(json);
        return found ? *found : (refuse_fill(json, dtype), T{});
    } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half>) {
        if (const auto* const text = std::get_if<std::string>(&json.value())) {
            const auto found = real_of<T>(*text);
            return found ? *found : (refuse_fill(json, dtype), T{});
        }
        const double value = json.number("the fill value");
        if constexpr (std::is_same_v<T, Half>) {
            return Half(static_cast<float>(value));
        } else {
            return static_cast<T>(value);
        }
    } else {  // complex
        using Part = typename T::value_type;
        const auto* const parts = std::get_if<Json::List>(&json.value());
        if (parts == nullptr) {
            return T(element_of<Part>(json, dtype));
        }
        return parts->size() == 2
                   ? T(element_of<Part>((*parts)[0], dtype), element_of<Part>((*parts)[1], dtype))
                   : (refuse_fill(json, dtype), T{});
    }
}

/// What the bytes of an element are, as an attribute; of complex ones both parts.
Attribute attribute_of_element(const std::vector<std::byte>& element, DType dtype) {
    return dispatch(dtype, [&]<class T>() -> Attribute {
        T value;
        std::memcpy(&value, element.data(), sizeof value);
        if constexpr (std::is_unsigned_v<T>) {
            return fluvial::attribute_of(static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T>) {
            return static_cast<std::int64_t>(value);
        } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half>) {
            return static_cast<double>(value);
        } else {
            return std::vector<double>{value.real(), value.imag()};
        }
    });
}

/// The float64 whose eight bytes, the lowest first, are written in base64.
std::optional<double> real_of_base64(const std::string& text) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    constexpr std::size_t count = 11;  // of 6 bits each; the last two of them are padding
    if (text.size() != count + 1 || text.back() != '=') {
        return std::nullopt;
    }
    std::uint64_t value = 0, pending = 0;
    int bits = 0, bytes = 0;
    for (const char c : text.substr(0, count)) {
        const auto digit = digits.find(c);
        if (digit == digits.npos) {
            return std::nullopt;
        }
        pending = pending << 6 | digit;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            value |= (pending >> bits & 0xff) << 8 * bytes++;
        }
    }
    return std::bit_cast<double>(value);
}

/// The dtype of this name, if it is one of Fluvial's.
std::optional<DType> dtype_named(const std::string& name) {
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        if (name_of(dtype) == name) {
            return dtype;
        }
    }
    return std::nullopt;
}

/// The dtype of NumPy's kind and size: 'f' and "4".
std::optional<DType> dtype_of_code(char kind, std::string_view bytes) {
    const char* const word = kind == 'i'   ? "int"
                             : kind == 'u' ? "uint"
                             : kind == 'f' ? "float"
                             : kind == 'c' ? "complex"
                                           : "";
    int size = 0;
    const auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), size);
    const bool sound = error == std::errc() && end == bytes.data() + bytes.size() && size > 0;
    return sound && size <= 16 ? dtype_named(text(word, 8 * size)) : std::nullopt;
}

}  // namespace

ZarrElement zarr2_element(const Json& data_type) {
    const auto* const code = std::get_if<std::string>(&data_type.value());
    if (code == nullptr) {
        static_cast<void>(data_type.list("dtype"));
        return {{}, false, false, "a structure"};
    }
    if (code->size() < 3 || std::string_view("<>|").find(code->front()) == std::string_view::npos) {
        throw InvalidArgument(Problem{"dtype is none of NumPy's", "'" + *code + "'",
                                      "such as '<f4', '>i2', '|u1'", ""});
    }
    const std::string_view size = std::string_view(*code).substr(2);
    if ((*code)[1] == 'b' && size == "1") {
        return {DType::UInt8, true};
    }
    const auto dtype = dtype_of_code((*code)[1], size);
    return {dtype, false, code->front() == '>', dtype ? "" : "of data type '" + *code + "'"};
}

ZarrElement zarr3_element(const Json& data_type) {
    const auto* const text = std::get_if<std::string>(&data_type.value());
    const Json* const inside = text == nullptr ? data_type.find("name") : &data_type;
    const std::string& name =
        inside == nullptr ? data_type.string("data_type") : inside->string("the name of data_type");
    if (text != nullptr && name == "bool") {
        return {DType::UInt8, true};
    }
    const auto dtype = text != nullptr ? dtype_named(name) : std::nullopt;
    return {dtype, false, false, dtype ? "" : "of data type '" + name + "'"};
}

std::vector<std::byte> fill_of(const Json& fill_value, DType dtype) {
    std::vector<std::byte> element(size_of(dtype));
    if (!std::holds_alternative<std::nullptr_t>(fill_value.value())) {
        dispatch(dtype, [&]<class T>() {
            const T value = element_of<T>(fill_value, dtype);
            std::memcpy(element.data(), &value, sizeof value);
        });
    }
    return element;
}

std::optional<Attribute> zarr2_missing(const Json& fill_value, const ZarrElement& element) {
    if (element.boolean || std::holds_alternative<std::nullptr_t>(fill_value.value())) {
        return std::nullopt;
    }
    return attribute_of_element(fill_of(fill_value, *element.dtype), *element.dtype);
}

std::optional<Attribute> zarr3_missing(const Attribute& said, DType dtype) {
    std::vector<std::string> texts;
    if (const auto* const one = std::get_if<std::string>(&said)) {
        texts = {*one};
    } else if (const auto* const several = std::get_if<std::vector<std::string>>(&said)) {
        texts = *several;
    }
    std::vector<double> numbers;
    for (const std::string& text : texts) {
        const auto number = real_of_base64(text);
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
    }
    if (is_floating(dtype) && numbers.size() == 1) {
        return numbers.front();
    }
    return is_complex(dtype) && !numbers.empty() ? std::optional<Attribute>(numbers) : std::nullopt;
}

}  // namespace fluvial::store
