// SPDX-License-Identifier: Apache-2.0
/// For tests and fuzzers: writes netCDF classic files of any version, byte by byte after the
/// specification and without the code under test.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "fluvial/store/netcdf_classic_header.hpp"

namespace fluvial::store {

struct ClassicFixture {
    struct Attribute {
        std::string name;
        ClassicType type = ClassicType::Char;
        std::string text;            ///< of Char
        std::vector<double> values;  ///< of all other types
    };
    struct Variable {
        std::string name;
        std::vector<std::size_t> dimensions;
        ClassicType type = ClassicType::Float;
        std::vector<Attribute> attributes = {};
    };
    struct Dimension {
        std::string name;
        std::uint64_t length = 0;  ///< 0: unlimited
    };

    int version = 1;
    std::uint64_t records = 0;
    std::optional<std::uint64_t> promised_records = {};  ///< in the header; none: `records`
    std::vector<Dimension> dimensions = {};
    std::vector<Attribute> attributes = {};
    std::vector<Variable> variables = {};

    using Bytes = std::vector<std::byte>;

    /// Element `element` of variable number `variable`, which every type can hold.
    static double value(std::size_t variable, std::uint64_t element) {
        return static_cast<double>((element * 7 + variable * 13) % 101);
    }

    /// The whole file.
    Bytes build() const;
    /// Its first part, with all variables right behind it.
    Bytes header() const {
        const Bytes unplaced = header(std::vector<std::uint64_t>(variables.size()));
        return header(std::vector<std::uint64_t>(variables.size(), unplaced.size()));
    }

  private:
    class Writer;

    bool by_record(const Variable& variable) const {
        return !variable.dimensions.empty() && dimensions[variable.dimensions[0]].length == 0;
    }
    /// Elements; of one record, where there are records.
    std::uint64_t elements(const Variable& variable) const {
        std::uint64_t count = 1;
        for (const std::size_t dimension : variable.dimensions) {
            count *= std::max<std::uint64_t>(dimensions[dimension].length, 1);
        }
        return count;
    }
    Bytes header(const std::vector<std::uint64_t>& begins) const;
};

class ClassicFixture::Writer {
  public:
    explicit Writer(int version) : version_(version) {}

    void byte(std::uint64_t value) { bytes.push_back(static_cast<std::byte>(value & 0xff)); }
    void number(std::uint64_t value, int width) {
        for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
            byte(value >> shift);
        }
    }
    void count(std::uint64_t value) { number(value, version_ == 5 ? 8 : 4); }
    void pad() {
        while (bytes.size() % 4 != 0) {
            byte(0);
        }
    }
    void name(const std::string& name) {
        count(name.size());
        text(name);
    }
    void text(const std::string& text) {
        for (const char c : text) {
            byte(static_cast<std::uint8_t>(c));
        }
        pad();
    }
    void list(std::uint32_t tag, std::size_t elements) {
        number(elements == 0 ? 0 : tag, 4);
        count(elements);
    }
    void element(ClassicType type, double value) {
        if (type == ClassicType::Float) {
            const auto narrow = static_cast<float>(value);
            std::uint32_t bits = 0;
            std::memcpy(&bits, &narrow, sizeof bits);
            number(bits, 4);
        } else if (type == ClassicType::Double) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, &value, sizeof bits);
            number(bits, 8);
        } else {
            const bool natural = value >= 9223372036854775808.0;
            number(natural ? static_cast<std::uint64_t>(value)
                           : static_cast<std::uint64_t>(static_cast<std::int64_t>(value)),
                   width(type));
        }
    }
    void attributes(const std::vector<Attribute>& attributes) {
        list(12, attributes.size());
        for (const Attribute& attribute : attributes) {
            name(attribute.name);
            number(static_cast<std::uint32_t>(attribute.type), 4);
            if (attribute.type == ClassicType::Char) {
                name(attribute.text);
                continue;
            }
            count(attribute.values.size());
            for (const double value : attribute.values) {
                element(attribute.type, value);
            }
            pad();
        }
    }
    static int width(ClassicType type) {
        constexpr int widths[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
        return widths[static_cast<std::uint32_t>(type)];
    }

    Bytes bytes;

  private:
    int version_;
};

inline ClassicFixture::Bytes ClassicFixture::header(
    const std::vector<std::uint64_t>& begins) const {
    Writer out(version);
    out.number(0x43444600U | static_cast<std::uint32_t>(version), 4);
    out.count(promised_records.value_or(records));
    out.list(10, dimensions.size());
    for (const Dimension& dimension : dimensions) {
        out.name(dimension.name);
        out.count(dimension.length);
    }
    out.attributes(attributes);
    out.list(11, variables.size());
    for (std::size_t i = 0; i < variables.size(); ++i) {
        const Variable& variable = variables[i];
        out.name(variable.name);
        out.count(variable.dimensions.size());
        for (const std::size_t dimension : variable.dimensions) {
            out.count(dimension);
        }
        out.attributes(variable.attributes);
        out.number(static_cast<std::uint32_t>(variable.type), 4);
        const std::uint64_t bytes =
            elements(variable) * static_cast<std::uint64_t>(Writer::width(variable.type));
        out.count((bytes + 3) / 4 * 4);
        out.number(begins[i], version == 1 ? 4 : 8);
    }
    return out.bytes;
}

inline ClassicFixture::Bytes ClassicFixture::build() const {
    Writer data(version);
    data.bytes = header();
    std::vector<std::uint64_t> begins(variables.size());
    const auto put = [&](std::size_t i, std::uint64_t first, bool padded) {
        for (std::uint64_t k = 0; k < elements(variables[i]); ++k) {
            data.element(variables[i].type, value(i, first + k));
        }
        if (padded) {
            data.pad();
        }
    };
    std::size_t record_variables = 0;
    for (std::size_t i = 0; i < variables.size(); ++i) {
        if (by_record(variables[i])) {
            ++record_variables;
        } else {
            begins[i] = data.bytes.size();
            put(i, 0, true);
        }
    }
    for (std::uint64_t record = 0; record < std::max<std::uint64_t>(records, 1); ++record) {
        for (std::size_t i = 0; i < variables.size(); ++i) {
            if (by_record(variables[i])) {
                begins[i] = record == 0 ? data.bytes.size() : begins[i];
                if (record < records) {
                    put(i, record * elements(variables[i]), record_variables > 1);
                }
            }
        }
    }
    const Bytes finished = header(begins);
    std::copy(finished.begin(), finished.end(), data.bytes.begin());
    return data.bytes;
}

}  // namespace fluvial::store
