// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic_header_output.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/store/netcdf_variables.hpp"

namespace fluvial::store {
namespace {

ClassicType classic_type_of(DType dtype) {
    for (std::uint32_t number = 1; number <= static_cast<std::uint32_t>(ClassicType::UInt64);
         ++number) {
        const auto type = static_cast<ClassicType>(number);
        if (dtype_of(type) == dtype) {
            return type;
        }
    }
    throw InvalidArgument("netCDF has no such dtype");  // was looked at before
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
    void attributes(const std::vector<NetcdfAttribute>& attributes);
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
    std::vector<std::byte> bytes_;
};

void HeaderWriter::attributes(const std::vector<NetcdfAttribute>& attributes) {
    constexpr std::uint64_t list_of_attributes = 0x0c;
    tag(list_of_attributes, attributes.size());
    for (const NetcdfAttribute& attribute : attributes) {
        name(attribute.name);
        if (attribute.text) {
            number(static_cast<std::uint64_t>(ClassicType::Char), 4);
            padded_text(*attribute.text);
            continue;
        }
        number(static_cast<std::uint64_t>(classic_type_of(attribute.dtype)), 4);
        count(attribute.count());
        const std::size_t width = size_of(attribute.dtype);
        for (std::size_t at = 0; at < attribute.numbers.size(); at += width) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, attribute.numbers.data() + at, width);
            number(bits, static_cast<int>(width));
        }
        pad();
    }
}

}  // namespace

std::uint64_t padded(std::uint64_t bytes) {
    return (bytes + 3) / 4 * 4;
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
        check_netcdf_name(name, "an axis");
        numbers.emplace(name, numbers.size() + 1);
        out.name(name);
        out.count(static_cast<std::uint64_t>(length));
    }
    out.attributes(netcdf_attributes(of_series, "the series"));
    out.tag(list_of_variables, layout.variables.size());
    for (const RecordVariable& variable : layout.variables) {
        check_netcdf_name(variable.name, "a dataset");
        out.name(variable.name);
        out.count(variable.dimensions.size() + (variable.by_record ? 1 : 0));
        if (variable.by_record) {
            out.count(0);
        }
        for (const std::string& label : variable.dimensions) {
            out.count(numbers.at(label));
        }
        out.attributes(
            netcdf_attributes(variable.attributes, "'" + variable.name + "'", variable.dtype));
        out.number(static_cast<std::uint64_t>(classic_type_of(variable.dtype)), 4);
        out.count(padded(bytes_of(variable)));
        const auto begin = begins.find(variable.name);
        out.count(begin == begins.end() ? 0 : begin->second);
    }
    return out.take();
}

}  // namespace fluvial::store
