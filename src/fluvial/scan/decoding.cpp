// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/decoding.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fluvial::scan {
namespace {

using Number = std::variant<std::int64_t, std::uint64_t, double>;

/// The numbers of an attribute; nothing for text.
std::vector<Number> numbers_of(const Attribute& attribute) {
    std::vector<Number> numbers;
    if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
        numbers.emplace_back(*integer);
    } else if (const auto* real = std::get_if<double>(&attribute)) {
        numbers.emplace_back(*real);
    } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
        numbers.assign(integers->begin(), integers->end());
    } else if (const auto* large = std::get_if<Unsigned>(&attribute)) {
        numbers.emplace_back(static_cast<std::uint64_t>(*large));
    } else if (const auto* larges = std::get_if<std::vector<Unsigned>>(&attribute)) {
        for (const Unsigned value : *larges) {
            numbers.emplace_back(static_cast<std::uint64_t>(value));
        }
    } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
        numbers.assign(reals->begin(), reals->end());
    }
    return numbers;
}

template <class T>
StoredValue stored_value(T value) {
    StoredValue stored;
    stored.bytes.resize(sizeof(T));
    std::memcpy(stored.bytes.data(), &value, sizeof(T));
    return stored;
}

double as_double(Number number) {
    return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

/// The number in a real dtype that is no integer; none when it is too large.
template <class T>
std::optional<T> real_of(Number number) {
    constexpr double largest =
        std::is_same_v<T, Half> ? 65504 : static_cast<double>(std::numeric_limits<T>::max());
    // Half of the last place: files say 3.4028235e38 for the largest float32.
    constexpr double rounded = std::is_same_v<T, Half> ? 16 : sizeof(T) == 4 ? 0x1p103 : 0;
    double value = as_double(number);
    if (std::isfinite(value)) {
        if (std::abs(value) > largest && std::abs(value) >= largest + rounded) {
            return std::nullopt;
        }
        value = std::clamp(value, -largest, largest);
    }
    if constexpr (std::is_same_v<T, Half>) {
        return Half(static_cast<float>(value));
    } else {
        return static_cast<T>(value);
    }
}

/// The number as an element of the dtype; none when the dtype cannot hold it. Unsigned dtypes take
/// the negative numbers that have the same bits, as files of signed types with _Unsigned write
/// them.
template <class T>
std::optional<StoredValue> element_of(Number number) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half>) {
        const auto value = real_of<T>(number);
        return value ? std::optional(stored_value(*value)) : std::nullopt;
    } else if constexpr (std::is_integral_v<T>) {
        if (const auto* real = std::get_if<double>(&number)) {
            // 2^digits is exact in float64 where max() is not.
            const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
            const double begin = std::is_signed_v<T> ? -end : 0;
            if (!(*real >= begin && *real < end) || *real != std::floor(*real)) {
                return std::nullopt;
            }
            return stored_value(static_cast<T>(*real));
        }
        if (const auto* large = std::get_if<std::uint64_t>(&number)) {
            return std::in_range<T>(*large) ? std::optional(stored_value(static_cast<T>(*large)))
                                            : std::nullopt;
        }
        const std::int64_t value = std::get<std::int64_t>(number);
        using Signed = std::make_signed_t<T>;
        const bool same_bits =
            std::is_unsigned_v<T> && value < 0 && value >= std::numeric_limits<Signed>::min();
        if (!same_bits && !std::in_range<T>(value)) {
            return std::nullopt;
        }
        return stored_value(static_cast<T>(value));
    } else {
        const auto value = real_of<typename T::value_type>(number);
        return value ? std::optional(stored_value(T(*value))) : std::nullopt;
    }
}

std::optional<StoredValue> element_of(DType dtype, Number number) {
    return dispatch(dtype, [&]<class T>() { return element_of<T>(number); });
}

/// The same of a complex dtype, of its two parts.
std::optional<StoredValue> element_of(DType dtype, Number real, Number imag) {
    const DType part = dtype == DType::Complex64 ? DType::Float32 : DType::Float64;
    auto value = element_of(part, real);
    const auto second = element_of(part, imag);
    if (!value || !second) {
        return std::nullopt;
    }
    value->bytes.insert(value->bytes.end(), second->bytes.begin(), second->bytes.end());
    return value;
}

/// Reads the attributes of one dataset and says what it cannot use.
class Conventions {
  public:
    Conventions(const Attributes& attributes, DType dtype, const std::string& dataset,
                std::vector<std::string>& warnings)
        : attributes_(attributes),
          dtype_(dtype),
          written_(dtype),
          dataset_(dataset),
          warnings_(warnings) {}

    Decoding read() {
        if (const auto found = attributes_.find("_Unsigned"); found != attributes_.end()) {
            const auto* text = std::get_if<std::string>(&found->second);
            if (!is_integer(dtype_)) {
                warn("_Unsigned", "the data are no integers");
            } else if (text != nullptr && (*text == "true" || *text == "false")) {
                decoding_.as_unsigned = *text == "true";
            } else {
                warn("_Unsigned", "it is neither \"true\" nor \"false\"");
            }
        }
        written_ = dtype_;
        dtype_ = decoding_.stored(dtype_);
        const auto scale = real("scale_factor", true), offset = real("add_offset", false);
        decoding_.scale = scale.value_or(1);
        decoding_.offset = offset.value_or(0);
        // Integers that say so are packed numbers, also by a factor of 1.
        decoding_.packed = decoding_.scale != 1 || decoding_.offset != 0 ||
                           (is_integer(dtype_) && (scale || offset));
        if (decoding_.packed && is_complex(dtype_)) {
            warn("scale_factor", "complex data cannot be packed");
            decoding_.packed = false;
        }
        for (const char* name : {"_FillValue", "missing_value"}) {
            add_missing(name);
        }
        if (const auto range = numbers("valid_range"); range.size() == 2) {
            bound("valid_range", range[0], false);
            bound("valid_range", range[1], true);
        } else if (!range.empty()) {
            warn("valid_range", "it does not have two numbers");
        }
        for (const bool upper : {false, true}) {
            const char* const name = upper ? "valid_max" : "valid_min";
            if (const auto number = numbers(name); number.size() == 1) {
                bound(name, number[0], upper);
            } else if (!number.empty()) {
                warn(name, "it does not have one number");
            }
        }
        return decoding_;
    }

  private:
    /// _FillValue is one value: two numbers are the parts of a complex one.
    void add_missing(const char* name) {
        const auto given = numbers(name);
        if (is_complex(dtype_) && given.size() == 2 && name == std::string_view("_FillValue")) {
            if (auto value = element_of(dtype_, given[0], given[1])) {
                decoding_.missing.push_back(std::move(*value));
            } else {
                warn(name, text("it is not a value of ", name_of(dtype_)));
            }
            return;
        }
        for (const auto number : given) {
            if (auto value = element(number)) {
                decoding_.missing.push_back(std::move(*value));
            } else {
                cannot_hold(name, number);
            }
        }
    }

    std::vector<Number> numbers(const char* name) {
        const auto found = attributes_.find(name);
        if (found == attributes_.end()) {
            return {};
        }
        auto values = numbers_of(found->second);
        if (values.empty()) {
            warn(name, "it is not a number");
        }
        return values;
    }

    /// Attributes stand for elements as they are written: the bits count, whatever their sign.
    std::optional<StoredValue> element(const Number& number) const {
        auto value = element_of(written_, number);
        return value || written_ == dtype_ ? value : element_of(dtype_, number);
    }

    std::optional<double> real(const char* name, bool factor) {
        const auto values = numbers(name);
        if (values.empty()) {
            return std::nullopt;
        }
        const double value = as_double(values[0]);
        const bool useless = !std::isfinite(value) || (value == 0 && factor);
        if (values.size() != 1 || useless) {
            warn(name, "it is not one finite number other than a factor of 0");
            return std::nullopt;
        }
        return value;
    }

    void bound(const char* name, Number number, bool upper) {
        if (is_complex(dtype_)) {
            warn(name, "complex numbers have no order");
            return;
        }
        if (std::holds_alternative<double>(number) && is_integer(dtype_)) {
            const double given = std::get<double>(number);
            if (decoding_.packed) {
                const bool up = upper != (decoding_.scale < 0);
                number = packed_bound(given, upper, up);
                upper = up;
            } else {
                number = upper ? std::floor(given) : std::ceil(given);
            }
        }
        auto value = element(number);
        if (!value) {
            cannot_hold(name, number);
            return;
        }
        (upper ? decoding_.valid_max : decoding_.valid_min) = std::move(value);
    }

    /// The outermost stored integer that is not beyond a bound once it is unpacked: rounding must
    /// not take the one that the bound was made of. `up`: of the stored ones it is the upper bound.
    double packed_bound(double given, bool upper, bool up) const {
        const double nearest = std::nearbyint((given - decoding_.offset) / decoding_.scale);
        const auto beyond = [&](double stored) {
            const double value = stored * decoding_.scale + decoding_.offset;
            return upper ? value > given : value < given;
        };
        const double outward = up ? 1 : -1;
        if (beyond(nearest)) {
            return nearest - outward;
        }
        return beyond(nearest + outward) ? nearest : nearest + outward;
    }

    void cannot_hold(const char* name, const Number& number) {
        std::visit([&](auto v) { warn(name, text(v, " is not a value of ", name_of(dtype_))); },
                   number);
    }
    void warn(const char* name, const std::string& why) {
        warnings_.push_back(text("'", dataset_, "': ", name, " is ignored: ", why));
    }

    const Attributes& attributes_;
    DType dtype_;    ///< of the stored elements, as _Unsigned says
    DType written_;  ///< as the file says
    const std::string& dataset_;
    std::vector<std::string>& warnings_;
    Decoding decoding_;
};

}  // namespace

DType Decoding::stored(DType dtype) const {
    if (!as_unsigned || !is_integer(dtype) || *as_unsigned != is_signed_integer(dtype)) {
        return dtype;
    }
    return static_cast<DType>(static_cast<int>(dtype) + (*as_unsigned ? 4 : -4));
}

Decoding cf_decoding(const Attributes& attributes, DType dtype, const std::string& dataset,
                     std::vector<std::string>& warnings) {
    return Conventions(attributes, dtype, dataset, warnings).read();
}

}  // namespace fluvial::scan
