// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic_header_output.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

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
void check_name(const std::string& name, const std::string& what) {
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

/// Big-endian numbers, one behind the other.
class HeaderWriter {
  public:
    void raw(std::string_view text) {
        for (const char letter : text) {
            bytes_.push_back(static_cast<std::byte>(letter));
        }
    }
    void number(std::uint64_t value, int width) {
        for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
            bytes_.push_back(static_cast<std::byte>(value >> shift & 0xff));
        }
    }
    void count(std::uint64_t value) { number(value, 8); }
    void tag(std::uint64_t kind, std::size_t entries) {
        number(entries > 0 ? kind : 0, 4);
        count(entries);
    }
    void name(const std::string& name) { padded_text(name); }
    void attributes(const Attributes& attributes, const std::string& owner,
                    std::optional<DType> dtype = {});
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    void padded_text(const std::string& text) {
        count(text.size());
        raw(text);
        pad();
    }
    void pad() {
        while (bytes_.size() % 4 != 0) {
            bytes_.push_back(std::byte{0});
        }
    }
    template <class T>
    void numbers(ClassicType type, const std::vector<T>& values) {
        number(static_cast<std::uint64_t>(type), 4);
        count(values.size());
        for (const T value : values) {
            number(std::bit_cast<std::uint64_t>(value), 8);
        }
    }

    /// False where the dtype, or the format, cannot hold the values.
    template <class T>
    bool numbers_as(DType dtype, const std::vector<T>& values) {
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
                number(static_cast<std::uint64_t>(classic_type_of(dtype, "")), 4);
                count(held.size());
                for (const Held value : held) {
                    std::uint64_t bits = 0;
                    std::memcpy(&bits, &value, sizeof value);
                    number(bits, sizeof value);
                }
                pad();
                return true;
            }
            return false;
        });
    }
    /// An attribute whose values are elements of a dataset.
    bool elements(const std::string& name, const Attribute& value, DType dtype);

    std::vector<std::byte> bytes_;
};

bool HeaderWriter::elements(const std::string& name, const Attribute& value, DType dtype) {
    const bool nothing = name == "_FillValue" || name == "missing_value";
    const bool bounds = name == "valid_min" || name == "valid_max" || name == "valid_range";
    if (!nothing && !bounds) {
        return false;
    }
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
        return (nothing || is_integer(dtype)) && numbers_as(dtype, std::vector{*whole});
    }
    if (const auto* large = std::get_if<Unsigned>(&value)) {
        return (nothing || is_integer(dtype)) && numbers_as(dtype, integers_of({*large}));
    }
    if (const auto* larges = std::get_if<std::vector<Unsigned>>(&value)) {
        return (nothing || is_integer(dtype)) && numbers_as(dtype, integers_of(*larges));
    }
    if (const auto* real = std::get_if<double>(&value)) {
        return (nothing || is_floating(dtype)) && numbers_as(dtype, std::vector{*real});
    }
    if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value)) {
        return (nothing || is_integer(dtype)) && numbers_as(dtype, *wholes);
    }
    const auto* reals = std::get_if<std::vector<double>>(&value);
    return reals != nullptr && (nothing || is_floating(dtype)) && numbers_as(dtype, *reals);
}

/// With a `dtype`: of a dataset of it, whose elements other programs compare with some of them.
void HeaderWriter::attributes(const Attributes& attributes, const std::string& owner,
                              std::optional<DType> dtype) {
    constexpr std::uint64_t list_of_attributes = 0x0c;
    tag(list_of_attributes, attributes.size());
    for (const auto& [said, value] : attributes) {
        check_name(said, "an attribute of " + owner);
        name(said);
        if (dtype && elements(said, value, *dtype)) {
            continue;
        }
        if (dtype && said == "_FillValue" && !attributes.contains("_Unsigned")) {
            throw InvalidArgument(
                Problem{"_FillValue of " + owner + " is none of its elements",
                        "a value that " + std::string(name_of(*dtype)) + " cannot hold",
                        "what the dataset's dtype can hold",
                        "Choose another value, or leave the attribute out"});
        }
        const auto* words = std::get_if<std::vector<std::string>>(&value);
        const auto* word = words != nullptr && words->size() == 1
                               ? &words->front()
                               : std::get_if<std::string>(&value);
        if (word != nullptr) {
            number(static_cast<std::uint64_t>(ClassicType::Char), 4);
            padded_text(*word);
        } else if (const auto* yes = std::get_if<bool>(&value)) {
            number(static_cast<std::uint64_t>(ClassicType::Byte), 4);
            count(1);
            number(*yes ? 1 : 0, 1);
            pad();
        } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
            numbers(ClassicType::Int64, std::vector<std::int64_t>{*whole});
        } else if (const auto* real = std::get_if<double>(&value)) {
            numbers(ClassicType::Double, std::vector<double>{*real});
        } else if (const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value)) {
            numbers(ClassicType::Int64, *wholes);
        } else if (const auto* large = std::get_if<Unsigned>(&value)) {
            numbers(ClassicType::UInt64, integers_of({*large}));
        } else if (const auto* larges = std::get_if<std::vector<Unsigned>>(&value)) {
            numbers(ClassicType::UInt64, integers_of(*larges));
        } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
            numbers(ClassicType::Double, *reals);
        } else {
            throw InvalidArgument(
                Problem{"attribute '" + said + "' of " + owner + " cannot be one of a netCDF file",
                        "several texts", "text, a number, or numbers", "Join texts to one"});
        }
    }
}
}  // namespace

ClassicType classic_type_of(DType dtype, const std::string& name) {
    for (std::uint32_t number = 1; number <= static_cast<std::uint32_t>(ClassicType::UInt64);
         ++number) {
        const auto type = static_cast<ClassicType>(number);
        if (dtype_of(type) == dtype) {
            return type;
        }
    }
    throw InvalidArgument(Problem{
        "'" + name + "' has a dtype that files of netCDF do not have", std::string(name_of(dtype)),
        "integers of 8 to 64 bits, float32 and float64", "Convert it, or write HDF5"});
}

std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 3) / 4 * 4;
}

std::uint64_t bytes_of(const RecordVariable& variable) {
    return static_cast<std::uint64_t>(volume_of(variable.shape)) * size_of(variable.dtype);
}
std::vector<std::byte> header_count(std::uint64_t count) {
    HeaderWriter out;
    out.count(count);
    return out.take();
}

std::vector<std::byte> header_of(const RecordLayout& layout, const Attributes& of_series,
                                 const std::map<std::string, std::uint64_t>& begins) {
    constexpr std::uint64_t list_of_dimensions = 0x0a, list_of_variables = 0x0b;
    HeaderWriter out;
    out.raw("CDF\5");
    out.count(0);  // records
    out.tag(list_of_dimensions, layout.dimensions.size() + 1);
    out.name(record_axis);
    out.count(0);
    std::map<std::string, std::uint64_t> numbers;
    for (const auto& [name, length] : layout.dimensions) {
        check_name(name, "an axis");
        numbers.emplace(name, numbers.size() + 1);
        out.name(name);
        out.count(static_cast<std::uint64_t>(length));
    }
    out.attributes(of_series, "the series");
    out.tag(list_of_variables, layout.variables.size());
    for (const RecordVariable& variable : layout.variables) {
        check_name(variable.name, "a dataset");
        out.name(variable.name);
        out.count(variable.dimensions.size() + (variable.by_record ? 1 : 0));
        if (variable.by_record) {
            out.count(0);
        }
        for (const std::string& label : variable.dimensions) {
            out.count(numbers.at(label));
        }
        out.attributes(variable.attributes, "'" + variable.name + "'", variable.dtype);
        out.number(static_cast<std::uint64_t>(classic_type_of(variable.dtype, variable.name)), 4);
        out.count(padded(bytes_of(variable)));
        const auto begin = begins.find(variable.name);
        out.count(begin == begins.end() ? 0 : begin->second);
    }
    return out.take();
}

}  // namespace fluvial::store
