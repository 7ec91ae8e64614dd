// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/netcdf_classic_header.hpp"

#include <array>
#include <limits>
#include <unordered_set>

#include "fluvial/base/error.hpp"
#include "fluvial/store/header_reader.hpp"
#include "fluvial/store/text_encoding.hpp"

namespace fluvial::store {
namespace {

enum Tag : std::uint32_t { Absent = 0, Dimensions = 10, Variables = 11, AttributeList = 12 };

constexpr std::uint64_t count_max = std::numeric_limits<std::int64_t>::max();

/// What one element of a list takes in the file at least, so that no count can promise more
/// elements than there are bytes.
constexpr std::uint64_t dimension_bytes_min = 12, attribute_bytes_min = 16, variable_bytes_min = 32;

int version_of(const InputFile& file) {
    std::array<std::byte, 4> magic{};
    if (file.size() < magic.size()) {
        return 0;
    }
    file.read(0, magic);
    const int version = std::to_integer<int>(magic[3]);
    const bool cdf =
        magic[0] == std::byte{'C'} && magic[1] == std::byte{'D'} && magic[2] == std::byte{'F'};
    return cdf && (version == 1 || version == 2 || version == 5) ? version : 0;
}

/// Names that were seen in one list.
class UniqueNames {
  public:
    UniqueNames(const HeaderReader& in, std::string list) : in_(in), list_(std::move(list)) {}
    void add(const std::string& name) {
        if (!seen_.insert(name).second) {
            in_.damaged(list_ + " have the same name", "'" + name + "'", "different names");
        }
    }

  private:
    const HeaderReader& in_;
    std::string list_;
    std::unordered_set<std::string> seen_;
};

class ClassicParser {
  public:
    explicit ClassicParser(const InputFile& file) : in_(file, "netCDF header") {}

    ClassicHeader parse() {
        in_.skip(3);
        header_.version = std::to_integer<int>(in_.byte());
        const std::uint64_t records = count();
        const std::uint64_t streaming = wide() ? std::numeric_limits<std::uint64_t>::max()
                                               : std::numeric_limits<std::uint32_t>::max();
        if (records != streaming) {
            header_.records = bounded(records, "number of records");
        }
        parse_dimensions();
        header_.attributes = parse_attributes("two attributes of the file");
        parse_variables();
        header_.bytes = in_.position();
        return std::move(header_);
    }

  private:
    bool wide() const { return header_.version == 5; }
    /// NON_NEG of the specification: 32 bits, in CDF-5 64.
    std::uint64_t count() { return wide() ? in_.u64() : in_.u32(); }

    std::uint64_t bounded(std::uint64_t value, const char* what) const {
        if (value > count_max) {
            in_.damaged(std::string("its ") + what + " is out of range", text(value),
                        text("0 to ", count_max));
        }
        return value;
    }

    /// The number of elements of the list that starts here.
    std::uint64_t list(Tag expected, std::uint64_t element_bytes_min) {
        const std::uint32_t tag = in_.u32();
        const std::uint64_t elements = count();
        if (tag == Absent && elements == 0) {
            return 0;
        }
        if (tag != expected) {
            in_.damaged("a list has the wrong tag", text(tag, " with ", elements, " elements"),
                        text(std::uint32_t{expected}, ", or 0 without elements"));
        }
        in_.expect(elements, element_bytes_min);
        return elements;
    }

    std::string name() {
        std::string name = padded_text(count());
        if (name.empty()) {
            in_.damaged("a name is empty", "", "");
        }
        for (const char c : name) {
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
                in_.damaged(
                    "a name holds a control character",
                    text("code ", static_cast<int>(c), " in a name of ", name.size(), " bytes"),
                    "printable characters");
            }
        }
        return to_utf8(std::move(name));
    }

    std::string padded_text(std::uint64_t bytes) {
        std::string value = in_.text_of(bytes);
        in_.skip((4 - bytes % 4) % 4);
        return value;
    }

    void parse_dimensions() {
        UniqueNames names(in_, "two dimensions");
        bool has_unlimited = false;
        for (auto left = list(Dimensions, dimension_bytes_min); left > 0; --left) {
            Dimension dimension;
            dimension.name = name();
            names.add(dimension.name);
            dimension.length = static_cast<Index>(bounded(count(), "length of a dimension"));
            dimension.unlimited = dimension.length == 0;
            if (dimension.unlimited && std::exchange(has_unlimited, true)) {
                in_.damaged("two dimensions are unlimited", "'" + dimension.name + "'",
                            "one unlimited dimension");
            }
            header_.dimensions.push_back(std::move(dimension));
        }
    }

    ClassicType type() {
        const std::uint32_t number = in_.u32();
        const auto last = static_cast<std::uint32_t>(wide() ? ClassicType::UInt64  //
                                                            : ClassicType::Double);
        if (number < 1 || number > last) {
            in_.damaged("a type is unknown", text(number), text("1 to ", last));
        }
        return static_cast<ClassicType>(number);
    }

    Attributes parse_attributes(const std::string& whose) {
        Attributes attributes;
        for (auto left = list(AttributeList, attribute_bytes_min); left > 0; --left) {
            std::string key = name();
            const ClassicType kind = type();
            const std::uint64_t elements = count();
            in_.expect(elements, size_of(kind));
            if (!attributes.try_emplace(key, value(kind, elements)).second) {
                in_.damaged(whose + " have the same name", "'" + key + "'", "different names");
            }
        }
        return attributes;
    }

    template <class T, class Number>
    Attribute numbers(std::uint64_t elements) {
        if (elements == 1) {
            return static_cast<Number>(in_.number<T>());
        }
        std::vector<Number> values;
        values.reserve(elements);  // expect() has seen that they are there
        for (std::uint64_t i = 0; i < elements; ++i) {
            values.push_back(static_cast<Number>(in_.number<T>()));
        }
        return values;
    }

    Attribute unsigned_numbers(std::uint64_t elements) {
        std::vector<std::uint64_t> values(elements);  // expect() has seen that they are there
        for (std::uint64_t& value : values) {
            value = in_.number<std::uint64_t>();
        }
        return elements == 1 ? attribute_of(values.front()) : attribute_of(values);
    }

    Attribute value(ClassicType kind, std::uint64_t elements) {
        if (kind == ClassicType::Char) {
            std::string characters = padded_text(elements);
            characters.resize(characters.find_last_not_of('\0') + 1);
            return to_utf8(std::move(characters));
        }
        const DType dtype = *dtype_of(kind);
        Attribute read = dispatch(dtype, [&]<class T>() -> Attribute {
            if constexpr (std::is_same_v<T, std::uint64_t>) {
                return unsigned_numbers(elements);
            } else if constexpr (std::is_integral_v<T>) {
                return numbers<T, std::int64_t>(elements);
            } else if constexpr (std::is_floating_point_v<T>) {
                return numbers<T, double>(elements);
            } else {
                return std::string();  // no classic type is half or complex
            }
        });
        in_.skip((4 - elements * size_of(kind) % 4) % 4);
        return read;
    }

    void parse_variables() {
        UniqueNames names(in_, "two variables");
        for (auto left = list(Variables, variable_bytes_min - (wide() ? 0 : 4)); left > 0; --left) {
            ClassicVariable variable;
            variable.name = name();
            names.add(variable.name);
            parse_dimensions_of(variable);
            variable.attributes = parse_attributes("two attributes of '" + variable.name + "'");
            variable.type = type();
            static_cast<void>(count());  // vsize
            variable.begin = header_.version == 1 ? in_.u32() : in_.u64();
            header_.variables.push_back(std::move(variable));
        }
    }

    void parse_dimensions_of(ClassicVariable& variable) {
        const std::uint64_t axes = count();
        in_.expect(axes, wide() ? 8 : 4);
        for (std::uint64_t axis = 0; axis < axes; ++axis) {
            const std::uint64_t place = count();
            if (place >= header_.dimensions.size()) {
                in_.damaged("variable '" + variable.name + "' has a dimension that is not there",
                            text("number ", place), text("below ", header_.dimensions.size()));
            }
            if (axis > 0 && header_.dimensions[place].unlimited) {
                in_.damaged("the unlimited dimension of '" + variable.name + "' is not its first",
                            text("axis ", axis), "axis 0");
            }
            variable.dimensions.push_back(place);
        }
    }

    HeaderReader in_;
    ClassicHeader header_;
};

}  // namespace

std::uint64_t size_of(ClassicType type) {
    const auto dtype = dtype_of(type);
    return dtype ? size_of(*dtype) : 1;
}

std::optional<DType> dtype_of(ClassicType type) {
    switch (type) {
        case ClassicType::Byte:
            return DType::Int8;
        case ClassicType::Char:
            return std::nullopt;
        case ClassicType::Short:
            return DType::Int16;
        case ClassicType::Int:
            return DType::Int32;
        case ClassicType::Float:
            return DType::Float32;
        case ClassicType::Double:
            return DType::Float64;
        case ClassicType::UByte:
            return DType::UInt8;
        case ClassicType::UShort:
            return DType::UInt16;
        case ClassicType::UInt:
            return DType::UInt32;
        case ClassicType::Int64:
            return DType::Int64;
        case ClassicType::UInt64:
            return DType::UInt64;
    }
    return std::nullopt;
}

bool is_netcdf_classic(const InputFile& file) {
    return version_of(file) != 0;
}

ClassicHeader parse_classic_header(const InputFile& file) {
    if (!is_netcdf_classic(file)) {
        throw DamagedFile(Problem{"'" + file.path() + "' is no netCDF classic file",
                                  "other first bytes", "'CDF' and 1, 2 or 5", ""});
    }
    return ClassicParser(file).parse();
}

}  // namespace fluvial::store
